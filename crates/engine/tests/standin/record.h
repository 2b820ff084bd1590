// What happened, written to STANDIN_LOG at exit.
#pragma once
#include "memory.h"

#include <unistd.h>

#include <set>
#include <string>

namespace standin {
/// Operations that only look at a tensor's memory in another way.
const std::set<std::string> views{"aten::as_strided", "aten::view", "aten::_reshape_alias", "aten::unfold"};

thread_local std::map<std::string, uint64_t> of_thread;

struct Record {
  std::mutex lock;
  std::map<std::string, uint64_t> launches, kinds, notes;
  void count(const std::string& op, const std::string& signature) {
    ++of_thread[op];
    std::lock_guard<std::mutex> guard(lock);
    ++launches[op];
    ++kinds[signature];
  }
  void note(const std::string& what) {
    std::lock_guard<std::mutex> guard(lock);
    ++notes[what];
  }
  /// Calls of this thread so far of "kernels", "views", or an operation of the log.
  static uint64_t calls(const std::string& what) {
    uint64_t all = 0;
    for (auto& [op, count] : of_thread) {
      const bool view = views.count(op), copy = op.rfind("copy ", 0) == 0;
      if (what == "kernels" ? !view && !copy : what == "views" ? view : what == op) all += count;
    }
    return all;
  }
  void write() {
    const char* path = std::getenv("STANDIN_LOG");
    if (!path) return;
    std::lock_guard<std::mutex> guard(lock);
    if (launches.empty()) return;
    std::string name = std::string(path) + "." + std::to_string(getpid());
    FILE* file = std::fopen(name.c_str(), "w");
    if (!file) return;
    uint64_t all = 0;
    for (auto& [op, count] : launches) all += count;
    std::fprintf(file, "# %lu calls of %zu operations\n", all, launches.size());
    std::fprintf(file, "# allocations: %zu\n", memory().allocations.load());
    for (auto& arena : memory().arenas) std::fprintf(file, "# memory: peak %zu, left %zu\n", arena.peak, arena.used);
    for (auto& [what, count] : notes) std::fprintf(file, "note %lu %s\n", count, what.c_str());
    for (auto& [op, count] : launches) std::fprintf(file, "op %lu %s\n", count, op.c_str());
    for (auto& [kind, count] : kinds) std::fprintf(file, "kind %lu %s\n", count, kind.c_str());
    std::fclose(file);
  }
};
Record& record() {
  static Record* all = new Record();
  return *all;
}
struct AtEnd {
  ~AtEnd() { record().write(); }
} at_end;

}  // namespace standin
