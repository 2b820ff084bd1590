//! What takes the optimizer steps of updates: this process's engine, or a group of processes that it starts with torchrun. The
//! handler of updates goes through [`Trainers`] and need not know which.

#[cfg(feature = "engine")]
mod engine;
mod torchrun;

pub use torchrun::{Torchrun, TorchrunError, TorchrunSettings};

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lyceum_core::artifact::Digest;
use lyceum_core::work::{Piece, SequenceRef, Trainer, UpdatePayload, UpdateResult};
use lyceum_models::token_batch::{RequestTokens, SampleTokens, TokenBatch};

use crate::adapter::{OPTIMIZER, Version, disk};
#[cfg(feature = "engine")]
use crate::engine::Engine;
use crate::handler::{Context, HandlerError};
use crate::scratch::{ScratchFile, ScratchFolder};

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
                    return engine.run(context, move |models, job| engine::learn(lesson, models, job)).await;
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
        Err(HandlerError::Permanent(format!("this worker does not have the trainer `{trainer}` (`compute.trainer`)")))
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
        Self { engine: Some(engine), torchrun: None }
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

/// The result of an update before its artifacts are stored. Until then the members' versions are those that they started
/// from.
pub enum Learned {
    /// New versions, in the order of the members.
    Members(Vec<Written>, UpdateResult),
    /// A piece of a gradient.
    Gradient(ScratchFile, UpdateResult),
}

/// A member's new files, in a folder that is deleted on drop.
pub struct Written {
    folder: ScratchFolder,
}

impl Written {
    /// A folder without the files.
    fn new() -> io::Result<Self> {
        Ok(Self { folder: ScratchFolder::new()? })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The archive of its adapter.
    #[must_use]
    pub fn weights(&self) -> PathBuf {
        self.folder().join("adapter.tar")
    }

    /// The file of its optimizer state.
    #[must_use]
    pub fn optimizer(&self) -> PathBuf {
        self.folder().join(OPTIMIZER)
    }
}

/// An update, with all that its payload refers to.
pub struct Lesson {
    /// What to do.
    pub payload: Arc<UpdatePayload>,
    /// The versions that the members start from, with their optimizer states.
    pub starts: Vec<Version>,
    /// The versions that members are kept close to, if any member names its own.
    pub references: Option<References>,
    /// The pieces to sum, for an update that was split.
    pub gradients: Vec<ScratchFile>,
    batches: HashMap<Digest, TokenBatch>,
}

/// The KL references of an update in which at least one member names its own.
pub struct References {
    /// One per member; the version it starts from where it names none.
    pub versions: Vec<Version>,
    /// Indices of the members that name none.
    pub unnamed: Vec<usize>,
}

impl Lesson {
    /// Reads everything that `payload` refers to.
    ///
    /// # Errors
    /// If something cannot be read.
    pub async fn read(payload: Arc<UpdatePayload>, context: &Context) -> Result<Self, HandlerError> {
        let mut starts = Vec::new();
        let mut batches = HashMap::new();
        for member in &payload.members {
            starts.push(Version::read(context, member.from, true).await?);
            for sequence in &member.sequences {
                if let Entry::Vacant(vacant) = batches.entry(sequence.tokens) {
                    let bytes = context.get(sequence.tokens).await?;
                    vacant.insert(TokenBatch::from_bytes(&bytes)?);
                }
            }
        }
        let mut gradients = Vec::new();
        if let Some(Piece::Apply { gradients: digests }) = &payload.piece {
            for digest in digests {
                let file = ScratchFile::new().map_err(disk)?;
                context.fetch(*digest, file.file().try_clone().map_err(disk)?).await?;
                gradients.push(file);
            }
        }
        Ok(Self { references: References::read(&payload, context).await?, payload, starts, gradients, batches })
    }

    /// The tokens of a sequence.
    ///
    /// # Errors
    /// Its rollout has no such sample.
    pub fn tokens(&self, sequence: &SequenceRef) -> Result<(&RequestTokens, &SampleTokens), HandlerError> {
        let request = self.batches.get(&sequence.tokens).and_then(|batch| batch.request(&sequence.request));
        let sample = request.and_then(|request| request.samples.get(sequence.sample as usize));
        request.zip(sample).ok_or_else(|| {
            HandlerError::Permanent(format!(
                "tokens {} have no sample {} of a request `{}`",
                sequence.tokens, sequence.sample, sequence.request
            ))
        })
    }
}

impl References {
    /// `None` if no member names a reference, or the loss has no KL term.
    async fn read(payload: &UpdatePayload, context: &Context) -> Result<Option<Self>, HandlerError> {
        let is_named = payload.members.iter().any(|member| member.kl_reference.is_some());
        if !is_named || payload.loss.kl_reference().is_none() {
            return Ok(None);
        }
        let mut versions = Vec::new();
        let mut unnamed = Vec::new();
        for (place, member) in payload.members.iter().enumerate() {
            if member.kl_reference.is_none() {
                unnamed.push(place);
            }
            let reference = member.kl_reference.unwrap_or(member.from);
            versions.push(Version::read(context, reference, false).await?);
        }
        Ok(Some(Self { versions, unnamed }))
    }
}
