// The devices' memory, and pinned memory of the host.
#pragma once
#include <ATen/ATen.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace standin {
inline size_t number(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The GPUs that `CUDA_VISIBLE_DEVICES` shows, all if it is not set; what follows an unknown one is not shown.
inline std::vector<size_t> visible() {
  const size_t count = number("STANDIN_GPUS", 1);
  std::vector<size_t> shown;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!text) {
    for (size_t gpu = 0; gpu < count; ++gpu) shown.push_back(gpu);
    return shown;
  }
  for (char* end; *text; text = *end == ',' ? end + 1 : end) {
    const size_t gpu = std::strtoull(text, &end, 10);
    if (end == text || gpu >= count) break;
    shown.push_back(gpu);
  }
  return shown;
}

/// One device's memory. `device` is what tensors point to; `host` is where kernels find it.
struct Arena {
  size_t gpu = 0;
  bool has_context = false;
  char* device = nullptr;
  char* host = nullptr;
  size_t size = 0, used = 0, peak = 0;
  std::map<size_t, size_t> free;  // offset -> bytes
  std::map<size_t, size_t> taken;
};

struct Memory {
  std::vector<Arena> arenas;
  std::mutex lock;
  std::atomic<size_t> allocations{0};
  std::atomic<size_t> fails_at{number("STANDIN_OOM_AT", 0)};

  Memory() {
    const size_t size = number("STANDIN_MEMORY", size_t(8) << 30) & ~size_t(4095);
    for (size_t gpu : visible()) {
      auto& arena = arenas.emplace_back();
      arena.gpu = gpu;
      arena.size = size;
      const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
      arena.device = static_cast<char*>(mmap(nullptr, size, PROT_NONE, flags, -1, 0));
      arena.host = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0));
      TORCH_CHECK(arena.device != MAP_FAILED && arena.host != MAP_FAILED, "stand-in: no address space");
      arena.free[0] = size;
    }
  }

  Arena* of(const void* pointer) {
    for (auto& arena : arenas) {
      if (pointer >= arena.device && pointer < arena.device + arena.size) return &arena;
    }
    return nullptr;
  }

  void* take(size_t bytes, c10::DeviceIndex index) {
    if (bytes == 0) return nullptr;
    // The allocation of this number, counted from 1, fails once; or, with STANDIN_OOM_EVERY, each such multiple.
    static const size_t fails_every = number("STANDIN_OOM_EVERY", 0);
    const size_t nth = ++allocations;
    TORCH_CHECK_WITH(OutOfMemoryError, nth != fails_at && (!fails_every || nth % fails_every), "CUDA out of memory. Tried to allocate ",
                     bytes / 1048576.0, " MiB. (stand-in, as asked)");
    const size_t rounded = (bytes + 511) & ~size_t(511);
    std::lock_guard<std::mutex> guard(lock);
    auto& arena = arenas.at(index);
    arena.has_context = true;
    for (auto it = arena.free.begin(); it != arena.free.end(); ++it) {
      if (it->second < rounded) continue;
      const size_t offset = it->first, rest = it->second - rounded;
      arena.free.erase(it);
      if (rest) arena.free[offset + rounded] = rest;
      arena.taken[offset] = rounded;
      arena.used += rounded;
      arena.peak = std::max(arena.peak, arena.used);
      // What is not written first reads as NaN, or as an index out of range.
      std::memset(arena.host + offset, 0xFF, rounded);
      return arena.device + offset;
    }
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes / 1048576.0,
                     " MiB. GPU ", int(index), " has a total capacity of ", arena.size / 1048576.0, " MiB of which ",
                     (arena.size - arena.used) / 1048576.0, " MiB is free. (stand-in)");
  }

  void give(void* pointer) {
    if (!pointer) return;
    std::lock_guard<std::mutex> guard(lock);
    Arena* arena = of(pointer);
    if (!arena) return;
    size_t offset = static_cast<char*>(pointer) - arena->device;
    auto taken = arena->taken.find(offset);
    if (taken == arena->taken.end()) return;
    size_t bytes = taken->second;
    arena->taken.erase(taken);
    arena->used -= bytes;
    std::memset(arena->host + offset, 0xFF, bytes);
    auto next = arena->free.lower_bound(offset);
    if (next != arena->free.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = arena->free.erase(next);
    }
    if (next != arena->free.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    arena->free[offset] = bytes;
  }
};

Memory& memory() {
  static Memory* all = new Memory();
  return *all;
}

void* host_of(void* pointer) {
  if (!pointer) return nullptr;
  Arena* arena = memory().of(pointer);
  TORCH_INTERNAL_ASSERT(arena, "stand-in: a CUDA tensor with a pointer of the host");
  return arena->host + (static_cast<char*>(pointer) - arena->device);
}

thread_local c10::DeviceIndex current = 0;

struct DeviceAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* pointer = memory().take(bytes, current);
    return {pointer, pointer, &release, c10::Device(c10::kCUDA, current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    std::memcpy(host_of(to), host_of(const_cast<void*>(from)), count);
  }
  static void release(void* pointer) { memory().give(pointer); }
};
DeviceAllocator device_allocator;

std::mutex pinned_lock;
std::map<const char*, size_t> pinned;

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* pointer = nullptr;
    if (bytes && posix_memalign(&pointer, 512, bytes)) TORCH_CHECK(false, "stand-in: no pinned memory");
    std::lock_guard<std::mutex> guard(pinned_lock);
    if (pointer) pinned[static_cast<char*>(pointer)] = bytes;
    return {pointer, pointer, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }
  static void release(void* pointer) {
    std::lock_guard<std::mutex> guard(pinned_lock);
    pinned.erase(static_cast<char*>(pointer));
    std::free(pointer);
  }
};
PinnedAllocator pinned_allocator;

bool is_pinned(const void* data) {
  std::lock_guard<std::mutex> guard(pinned_lock);
  auto after = pinned.upper_bound(static_cast<const char*>(data));
  if (after == pinned.begin()) return false;
  auto it = std::prev(after);
  return data < it->first + it->second;
}

}  // namespace standin
