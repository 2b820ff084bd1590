// CPU tensors over the memory of CUDA ones.
#pragma once
#include "memory.h"

#include <unordered_map>

namespace standin {
using at::IValue;
using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;

/// CPU tensors over the memory of CUDA ones, for the length of one kernel.
struct Aliases {
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages;
  std::unordered_map<c10::StorageImpl*, c10::Storage> originals;
  std::vector<std::pair<Tensor, Tensor>> tensors;
  c10::Device device{c10::kCUDA, 0};

  Tensor of(const Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_cuda()) return tensor;
    device = tensor.device();
    for (auto& [original, alias] : tensors) {
      if (original.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl()) return alias;
    }
    const c10::Storage& storage = tensor.storage();
    auto found = storages.find(storage.unsafeGetStorageImpl());
    if (found == storages.end()) {
      void* host = host_of(const_cast<void*>(storage.data()));
      c10::Storage alias(c10::Storage::use_byte_size_t(), storage.nbytes(), c10::DataPtr(host, c10::Device(c10::kCPU)),
                         c10::GetAllocator(c10::kCPU), true);
      originals.emplace(alias.unsafeGetStorageImpl(), storage);
      found = storages.emplace(storage.unsafeGetStorageImpl(), std::move(alias)).first;
    }
    Tensor alias = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(found->second), DispatchKeySet(DispatchKey::CPU),
                                                            tensor.dtype());
    auto* impl = alias.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    tensors.emplace_back(tensor, alias);
    return alias;
  }

  Tensor made(c10::Storage storage, const Tensor& like) {
    Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), DispatchKeySet(DispatchKey::CUDA), like.dtype());
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
    return tensor;
  }

  /// A CPU tensor that a kernel returned, as a tensor of the device.
  Tensor back(const Tensor& tensor) {
    if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
    for (auto& [original, alias] : tensors) {
      if (alias.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl()) return original;
    }
    auto found = originals.find(tensor.storage().unsafeGetStorageImpl());
    if (found != originals.end()) return made(found->second, tensor);
    return moved(tensor, device);
  }

  static Tensor moved(const Tensor& tensor, c10::Device device) {
    const size_t bytes = tensor.storage().nbytes();
    auto before = current;
    current = device.index();
    c10::DataPtr data;
    try {
      data = device_allocator.allocate(bytes);
    } catch (...) {
      current = before;
      throw;
    }
    current = before;
    if (bytes) std::memcpy(host_of(data.get()), tensor.storage().data(), bytes);
    c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, std::move(data), &device_allocator, true);
    return Aliases().made(std::move(storage), tensor);
  }

  /// Gives the originals what a kernel changed of the aliases' shapes.
  void settle() {
    for (auto& [original, alias] : storages) {
      auto& storage = originals.at(alias.unsafeGetStorageImpl());
      void* host = host_of(const_cast<void*>(storage.data()));
      if (alias.data() == host && alias.nbytes() == storage.nbytes()) continue;
      auto before = current;
      current = device.index();
      auto data = device_allocator.allocate(alias.nbytes());
      current = before;
      if (alias.nbytes()) std::memcpy(host_of(data.get()), alias.data(), alias.nbytes());
      original->set_data_ptr_noswap(std::move(data));
      original->set_nbytes(alias.nbytes());
    }
    for (auto& [original, alias] : tensors) {
      auto* impl = original.unsafeGetTensorImpl();
      if (original.sizes() != alias.sizes() || original.strides() != alias.strides() ||
          original.storage_offset() != alias.storage_offset()) {
        impl->set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
      }
    }
  }
};

const char* short_name(at::ScalarType type) { return c10::toString(type); }

}  // namespace standin
