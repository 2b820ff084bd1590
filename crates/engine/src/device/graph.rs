//! CUDA graphs: what a host has asked of a GPU once is asked again in one call, which takes a few microseconds instead of some for
//! each kernel.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use tch::{Device, Kind, TchError, Tensor};

use crate::error::{EngineError, Result};
use crate::unwinding::as_errors;

/// Whether CUDA refused to record something that it executes.
static REFUSED: AtomicBool = AtomicBool::new(false);

type Enqueue = extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn lyceum_graphs_exist() -> bool;
    fn lyceum_graph_stream(
        device: i8,
        enqueue: Enqueue,
        argument: *mut c_void,
        message: *mut c_char,
        length: usize,
    ) -> bool;
    fn lyceum_graph_record(enqueue: Enqueue, argument: *mut c_void, message: *mut c_char, length: usize)
    -> *mut c_void;
    fn lyceum_graph_replay(graph: *mut c_void, message: *mut c_char, length: usize) -> bool;
    fn lyceum_graph_free(graph: *mut c_void);
}

thread_local! {
    /// The GPUs on which this thread has recorded.
    static STREAMS: RefCell<HashSet<usize>> = RefCell::default();
}

/// Kernels with all their arguments. What they read and write must still be where it was when they were recorded.
#[derive(Debug)]
pub(crate) struct Graph(*mut c_void);

/// Whether the loaded libtorch has graphs, as the stand-in for CUDA has not, and none was refused.
pub(crate) fn graphs_exist() -> bool {
    // SAFETY: it only looks up names.
    !REFUSED.load(Ordering::Relaxed) && unsafe { lyceum_graphs_exist() }
}

impl Graph {
    /// Records what `step` asks of the GPU that CUDA counts as `index`, without executing it, and returns what it made: tensors
    /// whose contents the graph computes. The kernels must have been used before, since loading one cannot be recorded. The
    /// first time on a thread, `step` is executed as well: cuBLAS then allocates a workspace for the stream, which would otherwise
    /// belong to the graph. `None` if CUDA refuses to record it; then this process records nothing more.
    pub(crate) fn record<T>(index: usize, step: impl Fn() -> Result<T>) -> Result<Option<(Self, T)>> {
        let device = i8::try_from(index).map_err(|_| failure(format!("there is no GPU {index}")))?;
        finish(index)?;
        let mut recorded = Err(failure("nothing was recorded".to_owned()));
        let mut on_stream = || recorded = as_errors(|| record_here(index, &step));
        let (call, argument) = callback(&mut on_stream);
        // SAFETY: `argument` is the closure that `call` expects, and lives until this returns.
        let (done, message) =
            told(|message, length| unsafe { lyceum_graph_stream(device, call, argument, message, length) });
        match if done { recorded } else { Err(failure(message)) } {
            Ok(recorded) => Ok(Some(recorded)),
            Err(error) if error.is_out_of_memory() || error.is_device_lost() => Err(error),
            Err(_) => {
                REFUSED.store(true, Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    /// Executes it after all that was asked of the GPU before.
    pub(crate) fn replay(&self) -> Result<()> {
        // SAFETY: it was recorded, and is not freed.
        let (done, message) = told(|message, length| unsafe { lyceum_graph_replay(self.0, message, length) });
        if done { Ok(()) } else { Err(failure(message)) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was recorded, and nothing else frees it.
        unsafe { lyceum_graph_free(self.0) }
    }
}

/// Records what `step` asks of the current stream.
fn record_here<T>(index: usize, step: &impl Fn() -> Result<T>) -> Result<(Graph, T)> {
    if STREAMS.with_borrow_mut(|used| used.insert(index)) {
        step()?;
        finish(index)?;
    }
    let mut made = Err(failure("nothing was recorded".to_owned()));
    let mut enqueue = || made = as_errors(step);
    let (call, argument) = callback(&mut enqueue);
    // SAFETY: as above.
    let (graph, message) = told(|message, length| unsafe { lyceum_graph_record(call, argument, message, length) });
    if graph.is_null() {
        return Err(made.err().unwrap_or_else(|| failure(message)));
    }
    let graph = Graph(graph);
    Ok((graph, made?))
}

/// Waits for what was asked of the current stream: a wait for the whole GPU would be refused while another thread records.
fn finish(index: usize) -> Result<()> {
    let last = Tensor::f_zeros([1], (Kind::Float, Device::Cuda(index)))?;
    last.f_double_value(&[0])?;
    Ok(())
}

/// A function and its argument, by which C calls `closure`.
fn callback<F: FnMut()>(closure: &mut F) -> (Enqueue, *mut c_void) {
    extern "C" fn call<F: FnMut()>(closure: *mut c_void) {
        // SAFETY: the only caller passes the closure that it was made from, which is borrowed until then.
        unsafe { (*closure.cast::<F>())() }
    }
    (call::<F>, std::ptr::from_mut(closure).cast())
}

/// What a call returns, and its message.
fn told<T>(call: impl FnOnce(*mut c_char, usize) -> T) -> (T, String) {
    let mut message = [0 as c_char; 1024];
    let returned = call(message.as_mut_ptr(), message.len());
    // SAFETY: the message ends with NUL within its length.
    let message = unsafe { CStr::from_ptr(message.as_ptr()) };
    (returned, message.to_string_lossy().into_owned())
}

fn failure(message: String) -> EngineError {
    EngineError::Torch(TchError::Torch(message))
}
