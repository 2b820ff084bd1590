//! The thread that libtorch runs on. Items share the device, so they go one after another, and tensors never change threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lyceum_engine::EngineError;
use tokio::sync::oneshot;

use super::{Models, ModelsFolder};
use crate::handler::{Context, HandlerError};
use crate::heap;

/// After so long without a call, freed memory goes back to the system.
const IDLE: Duration = Duration::from_secs(5);

/// Work for the thread.
type Call = Box<dyn FnOnce(&mut Models) + Send>;

/// The engine's thread. It ends when the last handle is dropped.
#[derive(Clone)]
pub struct Engine {
    calls: Sender<Call>,
    loaded: Arc<Mutex<Vec<String>>>,
}

/// What a piece of work on the engine's thread tells and hears.
pub struct Job(Context);

/// Unwinds out of work that nobody wants any more.
struct Abandoned;

impl Engine {
    /// Starts the thread on `device` (`auto`, `cpu`, `cuda` or `cuda:N`).
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(folder: ModelsFolder, device: &str) -> std::io::Result<Self> {
        let (calls, received) = channel::<Call>();
        let loaded = Arc::new(Mutex::new(Vec::new()));
        let device = device.to_owned();
        let names = Arc::clone(&loaded);
        std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            let mut models = Models::new(folder, device);
            while let Some(call) = next(&received) {
                if catch_unwind(AssertUnwindSafe(|| call(&mut models))).is_err() {
                    models.clear();
                }
                *names.lock().unwrap_or_else(PoisonError::into_inner) = models.names();
            }
        })?;
        Ok(Self { calls, loaded })
    }

    /// Runs `work` on the thread, after earlier calls. Work whose item is cancelled before its turn is skipped.
    ///
    /// # Errors
    /// What the work says; or that it panicked.
    pub async fn run<T, W>(&self, context: &Context, work: W) -> Result<T, HandlerError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Models, &Job) -> Result<T, HandlerError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Job(context.clone());
        let call: Call = Box::new(move |models| {
            if job.0.is_cancelled() {
                return;
            }
            match catch_unwind(AssertUnwindSafe(|| work(models, &job))) {
                // Whoever asked may have left.
                Ok(result) => drop(reply.send(result)),
                Err(panic) if panic.is::<Abandoned>() => {}
                Err(panic) => resume_unwind(panic),
            }
        });
        let gone = || HandlerError::Transient("the engine panicked over this item; its log says where".to_owned());
        self.calls.send(call).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// The base models that are loaded.
    pub fn loaded_models(&self) -> Vec<String> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Job {
    /// Says how far the item is, from 0 to 1; does not come back if nobody wants it any more.
    pub fn progress(&self, share: f32, note: &str) {
        if self.0.is_cancelled() {
            resume_unwind(Box::new(Abandoned));
        }
        self.0.progress(share, note);
    }
}

/// The next call. Freed memory goes back to the system when none comes for a while.
fn next(calls: &Receiver<Call>) -> Option<Call> {
    match calls.recv_timeout(IDLE) {
        Ok(call) => Some(call),
        Err(RecvTimeoutError::Timeout) => {
            heap::release();
            calls.recv().ok()
        }
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// What the engine refused. Memory may be there the next time, and a file whole; all else stays as it is.
pub(crate) fn fault(error: EngineError) -> HandlerError {
    if error.is_out_of_memory() || matches!(error, EngineError::Io { .. } | EngineError::Unreachable { .. }) {
        HandlerError::Transient(error.to_string())
    } else {
        HandlerError::Permanent(error.to_string())
    }
}
