// CUDA graphs through libtorch's own class (at::cuda::CUDAGraph of libtorch 2.11), so that its allocator and cuBLAS know of them.
// tch does not bind it, and the build has no headers of CUDA, so its functions are looked up by their C++ names once
// libtorch_cuda.so is open. This is C++ because they throw.
#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <map>
#include <utility>

namespace {

// c10::cuda::CUDAStream: device and id, which are passed in registers.
struct Stream {
  long long device, id;
};
using Pool = std::pair<unsigned long long, unsigned long long>;

struct Functions {
  void (*construct)(void *, bool);
  void (*destroy)(void *);
  void (*begin)(void *, Pool, int);
  void (*end)(void *);
  void (*replay)(void *);
  Stream (*new_stream)(bool, signed char);
  Stream (*current_stream)(signed char);
  void (*use_stream)(Stream);
  bool found = true;

  template <class F> void find(F *&function, const char *name) {
    function = reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
    found = found && function;
  }

  Functions() {
    find(construct, "_ZN2at4cuda9CUDAGraphC1Eb");
    find(destroy, "_ZN2at4cuda9CUDAGraphD1Ev");
    find(begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
    find(end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
    find(replay, "_ZN2at4cuda9CUDAGraph6replayEv");
    find(new_stream, "_ZN3c104cuda17getStreamFromPoolEba");
    find(current_stream, "_ZN3c104cuda20getCurrentCUDAStreamEa");
    find(use_stream, "_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE");
  }
};

const Functions &functions() {
  static const Functions found;
  return found;
}

// Several times what the class takes: some fifteen words, by its header.
struct alignas(16) Graph {
  char bytes[512];
};

// cudaStreamCaptureModeThreadLocal: what other threads do with the GPU is no error.
constexpr int OF_THIS_THREAD = 1;

// Runs `call`; false and a message if it throws.
template <class F> bool caught(char *message, size_t length, F call) {
  try {
    call();
    return true;
  } catch (const std::exception &error) {
    snprintf(message, length, "%s", error.what());
  } catch (...) {
    snprintf(message, length, "an exception of unknown type");
  }
  return false;
}

} // namespace

// It must not throw.
using Enqueue = void (*)(void *argument);

extern "C" bool lyceum_graphs_exist() { return functions().found; }

// Calls `enqueue` with a stream of its own for graphs, which is the same for each call of a thread.
extern "C" bool lyceum_graph_stream(signed char device, Enqueue enqueue, void *argument, char *message, size_t length) {
  const Functions &torch = functions();
  return caught(message, length, [&] {
    thread_local std::map<signed char, Stream> streams;
    if (!streams.count(device)) streams[device] = torch.new_stream(false, device);
    const Stream before = torch.current_stream(device);
    torch.use_stream(streams[device]);
    enqueue(argument);
    torch.use_stream(before);
  });
}

// What `enqueue` asks of the current stream, as a graph; null and a message if it cannot be recorded.
extern "C" void *lyceum_graph_record(Enqueue enqueue, void *argument, char *message, size_t length) {
  const Functions &torch = functions();
  Graph *graph = new Graph;
  if (!caught(message, length, [&] { torch.construct(graph, false); })) {
    delete graph;
    return nullptr;
  }
  if (caught(message, length, [&] {
        torch.begin(graph, {0, 0}, OF_THIS_THREAD);
        enqueue(argument);
        torch.end(graph);
      }))
    return graph;
  torch.destroy(graph);
  delete graph;
  return nullptr;
}

extern "C" bool lyceum_graph_replay(void *graph, char *message, size_t length) {
  return caught(message, length, [&] { functions().replay(graph); });
}

extern "C" void lyceum_graph_free(void *graph) {
  functions().destroy(graph);
  delete static_cast<Graph *>(graph);
}
