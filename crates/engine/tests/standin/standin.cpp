// A stand-in for libtorch_cuda.so that computes on the CPU, for tests of code that uses CUDA through libtorch.
// Tensors on its devices live in memory that the host cannot read: their pointers lie in a PROT_NONE region, and
// kernels use the same offset in a second, readable region. See README.md.
#include "attention.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <execinfo.h>
#include <signal.h>

namespace standin {
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    auto before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {c10::kCUDA, current}; }
  void setDevice(c10::Device device) const override {
    if (device.index() < 0) return;
    TORCH_CHECK(device.index() < deviceCount(), "CUDA error: invalid device ordinal");
    // As in c10/cuda/CUDAFunctions.cpp: a context is created, except where a guard puts the device back.
    if (device.index() != current) memory().arenas[device.index()].has_context = true;
    current = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) current = device.index();
  }
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return c10::DeviceIndex(memory().arenas.size()); }
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override { *event = this_(); }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(c10::DeviceIndex) const override {}
  static void* this_() {
    static int event;
    return &event;
  }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

struct Hooks final : at::CUDAHooksInterface {
  Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return deviceCount() > 0; }
  bool hasCUDA() const override { return deviceCount() > 0; }
  bool hasCUDART() const override { return true; }
  bool hasCuBLASLt() const override { return true; }
  bool hasCuSOLVER() const override { return true; }
  long versionCUDART() const override { return 13000; }
  std::string showConfig() const override { return "stand-in"; }
  int getNumGPUs() const override { return int(memory().arenas.size()); }
  c10::DeviceIndex deviceCount() const override { return c10::DeviceIndex(memory().arenas.size()); }
  c10::DeviceIndex current_device() const override { return current; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(c10::DeviceIndex index) const override { current = index; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override { return std::exchange(current, index); }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override { return std::exchange(current, index); }
  bool hasPrimaryContext(c10::DeviceIndex index) const override { return memory().arenas.at(index).has_context; }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  c10::Allocator* getCUDADeviceAllocator() const override { return &device_allocator; }
  c10::Device getDeviceFromPtr(void* data) const override {
    auto* arena = memory().of(data);
    TORCH_CHECK(arena, "The specified pointer resides on host memory and is not registered with any CUDA device.");
    return {c10::kCUDA, c10::DeviceIndex(arena - memory().arenas.data())};
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::detail::createCPUGenerator(); }
  void deviceSynchronize(c10::DeviceIndex) const override { record().note("synchronises the device"); }
};

const char* const cuda_names[] = {
#include "cuda_ops.inc"
};

void crashed(int signal, siginfo_t* info, void*) {
  if (memory().of(info->si_addr)) {
    static const char text[] = "stand-in: the HOST read or wrote memory of a CUDA tensor\n";
    (void)!write(2, text, sizeof text - 1);
  }
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

struct Registered {
  torch::Library library{torch::Library::IMPL, "aten", DispatchKey::CUDA, __FILE__, __LINE__};
  size_t boxed_count = 0, missing_count = 0;

  Registered() {
    // It says that there is CUDA, so it must never serve where somebody trusts that.
    if (!std::getenv("STANDIN")) {
      std::fprintf(stderr, "libtorch_cuda.so is Lyceum's stand-in for tests; remove it from the library path\n");
      _exit(1);
    }
    c10::SetAllocator(c10::kCUDA, &device_allocator);
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&sdp_choice);
    library.impl("empty.memory_format", TORCH_FN(empty));
    library.impl("empty_strided", TORCH_FN(empty_strided));
    library.impl("copy_", TORCH_FN(copy_));
    library.impl("mm.dtype", TORCH_FN(mm_dtype));
    library.impl("bmm.dtype", TORCH_FN(bmm_dtype));
    library.impl("bmm.dtype_out", TORCH_FN(bmm_dtype_out));
    library.impl("_fused_rms_norm", TORCH_FN(fused_rms_norm));
    library.impl("_fused_rms_norm_backward", TORCH_FN(fused_rms_norm_backward));
    library.impl("_fused_sdp_choice", TORCH_FN(sdp_choice));
    library.impl("_scaled_dot_product_efficient_attention", TORCH_FN(efficient));
    library.impl("_scaled_dot_product_efficient_attention_backward", TORCH_FN(efficient_backward));
    library.impl("_scaled_dot_product_flash_attention", TORCH_FN(flash));
    library.impl("_scaled_dot_product_flash_attention_backward", TORCH_FN(flash_backward));
    const std::set<std::string> done{"empty.memory_format", "empty_strided", "copy_", "mm.dtype", "bmm.dtype", "bmm.dtype_out", "_fused_rms_norm",
        "_fused_rms_norm_backward", "_fused_sdp_choice", "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_backward"};
    const std::set<std::string> names(std::begin(cuda_names), std::end(cuda_names));
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const auto& name : dispatcher.getAllOpNames()) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      const std::string base = name.name.substr(6);
      const std::string full = base + (name.overload_name.empty() ? "" : "." + name.overload_name);
      // In place variants share a header with their base.
      std::string bare = base;
      if (bare.size() > 1 && bare.back() == '_' && bare[bare.size() - 2] != '_') bare.pop_back();
      if (done.count(full) || !(names.count(base) || names.count(bare))) continue;
      auto op = dispatcher.findSchema(name);
      if (!op) continue;
      if (op->hasKernelForDispatchKey(DispatchKey::CPU)) {
        library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&boxed>());
        ++boxed_count;
      } else if (!op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
                 !op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
                 !op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional)) {
        library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&without_cpu_kernel>());
        ++missing_count;
      }
    }
    if (std::getenv("STANDIN_VERBOSE")) {
      std::fprintf(stderr, "stand-in: %zu operations by their CPU kernels, %zu of its own, %zu without\n", boxed_count, done.size(), missing_count);
    }
    struct sigaction action {};
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  }
};
Registered* registered = new Registered();

}  // namespace standin

namespace at {
// libtorch looks its hooks up by this name.
using CUDAHooks = standin::Hooks;
REGISTER_CUDA_HOOKS(CUDAHooks);
}  // namespace at

extern "C" {
/// Makes the allocation of this number from here on, counted from 1, fail (0: none). Returns how many there have been.
size_t standin_fail_allocation(size_t after) {
  auto& memory = standin::memory();
  const size_t done = memory.allocations;
  memory.fails_at = after ? done + after : 0;
  return done;
}
/// Calls of this thread so far of "kernels", "views", or an operation as the log names it, such as "copy device to host".
uint64_t standin_calls(const char* what) { return standin::Record::calls(what); }
/// Whether there is a context on a GPU.
int standin_has_context(int index) { return standin::memory().arenas.at(index).has_context; }
/// The GPU of this index among those that are shown, or -1.
int standin_gpu(int index) {
  auto& arenas = standin::memory().arenas;
  return index >= 0 && size_t(index) < arenas.size() ? int(arenas[index].gpu) : -1;
}
int cudaGetDevice(int* device) {
  *device = standin::current;
  return 0;
}
int cudaSetDevice(int device) {
  if (device < 0 || size_t(device) >= standin::memory().arenas.size()) return 101;
  standin::current = c10::DeviceIndex(device);
  standin::memory().arenas[device].has_context = true;
  return 0;
}
int cudaMemGetInfo(size_t* free, size_t* total) {
  auto& arena = standin::memory().arenas.at(standin::current);
  *free = arena.size - arena.used;
  // More than there is: the rest belongs to other processes.
  *total = standin::number("STANDIN_TOTAL", arena.size);
  return 0;
}
}
