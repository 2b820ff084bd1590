//! What takes the optimizer steps of updates: this process's engine, or a group of processes that it starts with torchrun. The
//! handler of updates goes through [`Trainers`] and need not know which.

#[cfg(feature = "engine")]
mod engine;
mod learned;
mod lesson;
mod torchrun;

pub use learned::{Learned, Written};
pub use lesson::{Lesson, References};
pub use torchrun::{Torchrun, TorchrunError, TorchrunSettings};

use lyceum_core::work::Trainer;

#[cfg(feature = "engine")]
use crate::engine::Engine;
use crate::handler::{Context, HandlerError};

/// The trainers of a worker.
#[derive(Clone, Default)]
pub struct Trainers {
    /// The engine of this process.
    #[cfg(feature = "engine")]
    pub engine: Option<Engine>,
    /// Groups of processes.
    pub torchrun: Option<Torchrun>,
}

impl Trainers {
    /// Those that there are.
    pub fn all(&self) -> Vec<Trainer> {
        #[cfg(feature = "engine")]
        let engine = self.engine.is_some();
        #[cfg(not(feature = "engine"))]
        let engine = false;
        let there = [(Trainer::Engine, engine), (Trainer::Torchrun, self.torchrun.is_some())];
        let there = there.into_iter().filter(|(_, is_there)| *is_there);
        there.map(|(trainer, _)| trainer).collect()
    }

    /// Trains the members of a lesson.
    ///
    /// # Errors
    /// The lesson is invalid, or the trainer fails.
    pub async fn train(&self, lesson: Lesson, context: &Context) -> Result<Learned, HandlerError> {
        let trainer = lesson.payload.compute.trainer;
        match trainer {
            #[cfg(feature = "engine")]
            Trainer::Engine => {
                if let Some(engine) = &self.engine {
                    return engine
                        .run(context, move |models, job| engine::learn(lesson, models, job))
                        .await;
                }
            }
            #[cfg(not(feature = "engine"))]
            Trainer::Engine => {}
            Trainer::Torchrun => {
                if let Some(torchrun) = &self.torchrun {
                    return torchrun.train(lesson, context).await;
                }
            }
        }
        Err(HandlerError::Permanent(format!(
            "this worker does not have the trainer `{trainer}` (`compute.trainer`)"
        )))
    }

    /// The base models that are loaded.
    #[cfg(feature = "engine")]
    pub fn loaded_models(&self) -> Vec<String> {
        self.engine.as_ref().map(Engine::loaded_models).unwrap_or_default()
    }

    /// The base models that are loaded: none without an engine.
    #[cfg(not(feature = "engine"))]
    pub fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(feature = "engine")]
impl From<Engine> for Trainers {
    fn from(engine: Engine) -> Self {
        Self {
            engine: Some(engine),
            torchrun: None,
        }
    }
}

impl From<Torchrun> for Trainers {
    fn from(torchrun: Torchrun) -> Self {
        Self {
            #[cfg(feature = "engine")]
            engine: None,
            torchrun: Some(torchrun),
        }
    }
}
