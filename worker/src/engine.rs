//! The engine for handlers: one thread with the loaded model.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lyceum_core::artifact::Digest;
use lyceum_core::work::{BaseModel, Compute, Dtype};
use lyceum_engine::error::tells_of_lost_device;
use lyceum_engine::{EngineError, Model, Placement, Population};
use lyceum_models::{ModelsFolder, Texts, check_revision};
use tokio::sync::oneshot;

use crate::adapter::Version;
use crate::handler::{Context, HandlerError};
use crate::heap;
use crate::panic::message;

/// A loaded base model, and the adapters last used with it.
pub struct Loaded {
    name: BaseModel,
    dtype: Dtype,
    /// The weights.
    pub model: Model,
    /// Tokenizer and chat template.
    pub texts: Texts,
    population: Option<(Vec<Digest>, Population)>,
}

/// The state of the engine's thread.
pub struct Models {
    folder: ModelsFolder,
    device: String,
    loaded: Option<Loaded>,
}

impl Models {
    fn new(folder: ModelsFolder, device: String) -> Self {
        Self { folder, device, loaded: None }
    }

    /// The base model `name`, with the settings of `compute`. Unloads the previous one if it is different.
    ///
    /// # Errors
    /// The model is missing, damaged, or of another revision.
    pub fn load(&mut self, name: &BaseModel, compute: Compute) -> Result<&mut Loaded, HandlerError> {
        lyceum_engine::set_threads(compute.threads);
        let fits = |loaded: &Loaded| loaded.name == *name && loaded.dtype == compute.dtype;
        if !self.loaded.as_ref().is_some_and(fits) {
            // Unload first: two models may not fit.
            self.loaded = None;
            let folder = self.folder.locate(name).map_err(fault)?;
            check_revision(name, &folder).map_err(fault)?;
            let placement = Placement::new(&self.device, compute.dtype).map_err(fault)?;
            let model = Model::load(&folder, placement).map_err(fault)?;
            tracing::info!(base_model = %name.name, folder = %folder.display(), "loaded base model {}", name.name);
            self.loaded = Some(Loaded {
                name: name.clone(),
                dtype: compute.dtype,
                texts: Texts::load(&name.name, &folder, &model.config).map_err(fault)?,
                model,
                population: None,
            });
        }
        match &mut self.loaded {
            Some(loaded) => Ok(loaded),
            None => unreachable!("it was loaded above"),
        }
    }

    /// Names of the loaded models.
    fn names(&self) -> Vec<String> {
        self.loaded.iter().map(|loaded| loaded.name.name.clone()).collect()
    }

    /// Unloads everything, since a panic may have left it in any state.
    fn clear(&mut self) {
        self.loaded = None;
    }
}

impl Loaded {
    /// The adapters, stacked in this order, without their optimizer states; `None` without adapters. Reuses those of
    /// the previous call.
    ///
    /// # Errors
    /// Adapters that do not fit the base or one another.
    pub fn with_adapters(&mut self, adapters: &[Version]) -> Result<(), HandlerError> {
        let digests: Vec<Digest> = adapters.iter().map(|version| version.adapter.artifact).collect();
        if self.population.as_ref().map_or(&[][..], |(held, _)| held) == digests {
            return Ok(());
        }
        self.population = None;
        if !adapters.is_empty() {
            self.population = Some((digests, self.stack(adapters)?));
        }
        Ok(())
    }

    /// The adapters of the last [`Loaded::with_adapters`].
    pub fn population(&self) -> Option<&Population> {
        self.population.as_ref().map(|(_, population)| population)
    }

    /// The adapters, stacked in this order.
    ///
    /// # Errors
    /// Adapters that do not fit the base or one another.
    pub fn stack(&self, adapters: &[Version]) -> Result<Population, HandlerError> {
        let paths: Vec<PathBuf> = adapters.iter().map(|version| version.folder().to_owned()).collect();
        lyceum_engine::peft::read_population(&paths, &self.model.config, self.model.placement.device).map_err(fault)
    }
}

/// Idle time after which freed memory is returned to the system.
const IDLE: Duration = Duration::from_secs(5);

/// Time after which it is returned between two calls, too. Not after each, since what the next call needs is then asked of the
/// system again, page by page.
const KEPT: Duration = Duration::from_secs(10);

/// Work for the thread.
type Call = Box<dyn FnOnce(&mut Models) + Send>;

/// The engine's thread. It ends when the last handle is dropped.
#[derive(Clone)]
pub struct Engine {
    calls: Sender<Call>,
    loaded: Arc<Mutex<Vec<String>>>,
}

/// Lets a job on the engine's thread report progress and notice cancellation.
pub struct Job(Context);

/// Panic payload that unwinds out of cancelled work.
struct Abandoned;

impl Engine {
    /// Starts the thread on `device` (`auto`, `cpu`, `cuda` or `cuda:N`).
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(folder: ModelsFolder, device: &str) -> std::io::Result<Self> {
        let (calls, received) = channel::<Call>();
        let loaded = Arc::new(Mutex::new(Vec::new()));
        let device = device.to_owned();
        let names = Arc::clone(&loaded);
        std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            let mut models = Models::new(folder, device);
            let mut released = Instant::now();
            while let Some(call) = next(&received) {
                if catch_unwind(AssertUnwindSafe(|| call(&mut models))).is_err() {
                    models.clear();
                }
                *names.lock().unwrap_or_else(PoisonError::into_inner) = models.names();
                if released.elapsed() >= KEPT {
                    heap::release();
                    released = Instant::now();
                }
            }
        })?;
        Ok(Self { calls, loaded })
    }

    /// Runs `work` on the thread, after earlier calls. Work whose item is cancelled before its turn is skipped.
    ///
    /// # Errors
    /// The error of the work, or a panic.
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
                // The caller may be gone.
                Ok(result) => drop(reply.send(result)),
                Err(panic) if panic.is::<Abandoned>() => {}
                Err(panic) => match message(panic.as_ref()) {
                    Some(message) if tells_of_lost_device(message) => {
                        drop(reply.send(Err(HandlerError::DeviceLost(message.to_owned()))));
                    }
                    _ => resume_unwind(panic),
                },
            }
        });
        let gone = || HandlerError::Transient("the engine panicked over this item; its log says where".to_owned());
        self.calls.send(call).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// The loaded base models.
    pub fn loaded_models(&self) -> Vec<String> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Job {
    /// Reports the item's progress, from 0 to 1; unwinds if the item was cancelled.
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

/// An engine error. Out of memory and damaged files are transient, a lost GPU is the worker's end; everything else is permanent.
pub(crate) fn fault(error: impl Into<EngineError>) -> HandlerError {
    match error.into() {
        EngineError::Model(error) => error.into(),
        error if error.is_device_lost() => HandlerError::DeviceLost(error.to_string()),
        error if error.is_out_of_memory() => HandlerError::Transient(error.to_string()),
        error => HandlerError::Permanent(error.to_string()),
    }
}
