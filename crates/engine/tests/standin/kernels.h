// CUDA operations by the CPU's kernels, and those that only CUDA has.
#pragma once
#include "aliases.h"
#include "record.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <set>

namespace standin {
/// Operations that take indices on the CPU.
const std::set<std::string> takes_host_indices{"aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_"};
/// Operations that wait for the device, because their result, or its shape, goes to the host.
const std::set<std::string> waits{"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal",
                                  "aten::_unique2", "aten::unique_consecutive", "aten::repeat_interleave",
                                  "aten::is_set_to", "aten::bincount", "aten::_linalg_svd", "aten::_linalg_eigh"};
/// Sums in no fixed order on a GPU.
const std::set<std::string> unordered{"aten::index_add_", "aten::index_add", "aten::scatter_add_", "aten::scatter_add", "aten::cumsum",
                                      "aten::bincount", "aten::histc"};

void boxed(const c10::OperatorHandle& op, DispatchKeySet, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& name = schema.name();
  const size_t count = schema.arguments().size(), start = stack->size() - count;
  Aliases aliases;
  std::string signature = name + (schema.overload_name().empty() ? "" : "." + schema.overload_name()) + "(";
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    auto see = [&](const Tensor& tensor) {
      if (tensor.defined() && tensor.is_cuda()) {
        if (any && aliases.device != tensor.device()) {
          TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
                      aliases.device, " and ", tensor.device(), "! (stand-in: ", schema, ")");
        }
        aliases.device = tensor.device();
        any = true;
      }
    };
    const IValue& value = (*stack)[start + i];
    if (value.isTensor()) see(value.toTensor());
    else if (value.isList()) {
      auto list = value.toList();
      for (size_t j = 0; j < list.size(); ++j) {
        IValue item = list.get(j);
        if (item.isTensor()) see(item.toTensor());
      }
    } else if (value.isDevice() && value.toDevice().is_cuda()) aliases.device = value.toDevice();
  }
  auto told = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    signature += std::string(short_name(tensor.scalar_type())) + (tensor.is_cuda() ? "" : "@cpu") +
                 (tensor.dim() == 0 ? "0" : "") + ",";
  };
  auto checked = [&](const Tensor& tensor, const c10::Argument& argument, bool in_list) -> Tensor {
    told(tensor);
    if (!tensor.defined()) return tensor;
    if (tensor.device().is_cpu()) {
      const bool written = argument.alias_info() && argument.alias_info()->isWrite();
      const bool index = in_list && takes_host_indices.count(name);
      TORCH_CHECK(index || (tensor.dim() == 0 && !written), "Expected all tensors to be on the same device, but got ",
                  argument.name(), " is on cpu, different from other tensors on ", aliases.device,
                  " (when checking argument in method wrapper_CUDA_", name, ") (stand-in)");
      record().note(std::string(index ? "index on the CPU: " : "scalar tensor on the CPU: ") + name + " " + argument.name());
      return tensor;
    }
    return aliases.of(tensor);
  };
  for (size_t i = 0; i < count; ++i) {
    IValue& value = (*stack)[start + i];
    const auto& argument = schema.arguments()[i];
    if (value.isTensor()) {
      value = checked(value.toTensor(), argument, false);
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorVector()) list.push_back(checked(tensor, argument, true));
      value = list;
    } else if (value.isList()) {
      auto list = value.toList();
      bool tensors = false;
      for (size_t j = 0; j < list.size(); ++j) tensors |= IValue(list.get(j)).isTensor();
      if (!tensors) continue;
      auto copy = list.copy();
      for (size_t j = 0; j < copy.size(); ++j) {
        IValue item = copy.get(j);
        if (item.isTensor()) copy.set(j, checked(item.toTensor(), argument, true));
      }
      value = copy;
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      value = c10::Device(c10::kCPU);
    } else if (value.isGenerator()) {
      value = IValue();
    }
  }
  record().count(name, signature + ")");
  static const size_t lost_at = number("STANDIN_LOST_AT", 0);
  static std::atomic<size_t> calls{0};
  TORCH_CHECK(!lost_at || ++calls < lost_at, "CUDA error: an illegal memory access was encountered (stand-in, as asked)");
  if (waits.count(name)) record().note("waits for the device: " + name);
  if (unordered.count(name)) record().note("in no fixed order on a GPU: " + signature + ")");
  op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  aliases.settle();
  const size_t results = schema.returns().size(), from = stack->size() - results;
  for (size_t i = 0; i < results; ++i) {
    IValue& value = (*stack)[from + i];
    if (value.isTensor()) {
      value = aliases.back(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorVector()) list.push_back(aliases.back(tensor));
      value = list;
    }
  }
}

void without_cpu_kernel(const c10::OperatorHandle& op, DispatchKeySet, torch::jit::Stack*) {
  TORCH_CHECK(false, "stand-in: ", op.schema(), " has a kernel for CUDA, but none for the CPU that could replace it");
}

Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device> device,
             std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
  auto before = current;
  auto index = device ? device->index() : c10::DeviceIndex(-1);
  if (index >= 0) current = index;
  try {
    Tensor made = at::detail::empty_generic(size, &device_allocator, DispatchKeySet(DispatchKey::CUDA), c10::dtype_or_default(dtype), format);
    current = before;
    return made;
  } catch (...) {
    current = before;
    throw;
  }
}

Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<at::Device> device, std::optional<bool>) {
  auto before = current;
  auto index = device ? device->index() : c10::DeviceIndex(-1);
  if (index >= 0) current = index;
  try {
    Tensor made = at::detail::empty_strided_generic(size, stride, &device_allocator, DispatchKeySet(DispatchKey::CUDA), c10::dtype_or_default(dtype));
    current = before;
    return made;
  } catch (...) {
    current = before;
    throw;
  }
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (self.is_cuda() && source.is_cuda()) {
    record().count("aten::copy_", std::string("aten::copy_(") + short_name(self.scalar_type()) + "," + short_name(source.scalar_type()) + ")");
  } else {
    const Tensor& there = self.is_cuda() ? source : self;
    const bool pinned = is_pinned(there.const_data_ptr());
    std::string how = self.is_cuda() ? "to the device" : "to the host";
    how += pinned ? ", pinned" : ", pageable";
    how += non_blocking ? ", non-blocking" : ", blocking: waits for the device";
    if (non_blocking && !self.is_cuda() && pinned) how += "; the host must synchronise before it reads";
    record().note("copy " + how);
    record().count("copy " + std::string(self.is_cuda() ? "host to device" : "device to host"), "copy");
  }
  Aliases aliases;
  Tensor to = aliases.of(self), from = aliases.of(source);
  at::_ops::copy_::redispatch(DispatchKeySet(DispatchKey::CPU), to, from, false);
  return self;
}

void noted(const char* name, const Tensor& a) {
  record().count(std::string("aten::") + name, std::string("aten::") + name + "(" + short_name(a.scalar_type()) + ")");
}

void same_device(const char* name, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    TORCH_CHECK(!tensor->defined() || tensor->device() == (*tensors.begin())->device(),
                "Expected all tensors to be on the same device, but got one on ", tensor->device(), ", different from other tensors on ",
                (*tensors.begin())->device(), " (when checking argument in method wrapper_CUDA_", name, ") (stand-in)");
  }
}

Tensor product_dtype(const char* name, const Tensor& left, const Tensor& right, at::ScalarType out) {
  noted(name, left);
  same_device(name, {&left, &right});
  TORCH_CHECK(left.scalar_type() == right.scalar_type(), "input dtypes must be the same");
  TORCH_CHECK(out == left.scalar_type() || (out == at::kFloat && (left.scalar_type() == at::kHalf || left.scalar_type() == at::kBFloat16)),
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
  Aliases aliases;
  return Aliases::moved(aliases.of(left).to(at::kFloat).matmul(aliases.of(right).to(at::kFloat)).to(out).contiguous(), left.device());
}
Tensor mm_dtype(const Tensor& a, const Tensor& b, at::ScalarType out) { return product_dtype("mm.dtype", a, b, out); }
Tensor bmm_dtype(const Tensor& a, const Tensor& b, at::ScalarType out) { return product_dtype("bmm.dtype", a, b, out); }
Tensor& bmm_dtype_out(const Tensor& a, const Tensor& b, at::ScalarType type, Tensor& out) {
  same_device("bmm.dtype", {&a, &out});
  TORCH_CHECK(out.scalar_type() == type && out.size(1) == a.size(1) && out.size(2) == b.size(2), "stand-in: another result");
  TORCH_CHECK(out.stride(2) == 1, "stand-in: cuBLAS would write into a copy");
  const Tensor product = product_dtype("bmm.dtype", a, b, type);
  Aliases aliases;
  aliases.of(out).copy_(aliases.of(product));
  return out;
}

std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, at::IntArrayRef shape, const std::optional<Tensor>& weight,
                                          std::optional<double> eps) {
  noted("_fused_rms_norm", input);
  TORCH_CHECK(shape.size() == 1, "stand-in: rms_norm over one dimension");
  if (weight && weight->defined()) same_device("_fused_rms_norm", {&input, &*weight});
  Aliases aliases;
  Tensor x = aliases.of(input).to(at::kFloat);
  Tensor rstd = (x.pow(2).mean(-1, true) + eps.value_or(std::numeric_limits<float>::epsilon())).rsqrt();
  Tensor y = x * rstd;
  if (weight && weight->defined()) y = y * aliases.of(*weight).to(at::kFloat);
  return {Aliases::moved(y.to(input.scalar_type()).contiguous(), input.device()), Aliases::moved(rstd.contiguous(), input.device())};
}

std::tuple<Tensor, Tensor> fused_rms_norm_backward(const Tensor& grad, const Tensor& input, at::IntArrayRef, const Tensor& rstd,
                                                   const std::optional<Tensor>& weight, std::array<bool, 2> mask) {
  noted("_fused_rms_norm_backward", input);
  Aliases aliases;
  Tensor g = aliases.of(grad).to(at::kFloat), x = aliases.of(input).to(at::kFloat), r = aliases.of(rstd);
  Tensor normed = x * r, by_input, by_weight;
  if (mask[1] && weight && weight->defined()) {
    by_weight = (g * normed).reshape({-1, x.size(-1)}).sum(0).to(weight->scalar_type());
    by_weight = Aliases::moved(by_weight.contiguous(), input.device());
  }
  if (weight && weight->defined()) g = g * aliases.of(*weight).to(at::kFloat);
  if (mask[0]) {
    by_input = r * (g - normed * (g * normed).mean(-1, true));
    by_input = Aliases::moved(by_input.to(input.scalar_type()).contiguous(), input.device());
  }
  return {by_input, by_weight};
}

}  // namespace standin
