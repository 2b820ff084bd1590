//! What runs an item.

use futures::future::BoxFuture;
use lyceum_core::{
    artifact::{ArtifactKind, Digest},
    work::{Outcome, Payload, WorkKey, WorkKind},
};
use lyceum_store::{
    StoreError,
    artifact::ArtifactStore,
    work::{Claim, Progress},
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Runs items of one kind. An item's arithmetic depends on its payload alone; one that is tried again starts over.
///
/// What takes the processor belongs on `tokio::task::spawn_blocking` or a thread of its own: a handler that blocks its
/// thread holds up the others, whose number of threads is that of the cores.
pub trait Handler: Send + Sync {
    /// The kind.
    fn kind(&self) -> WorkKind;

    /// Runs one item to its outcome. May be dropped at any await when the item is cancelled or given to another worker.
    fn run(self: Arc<Self>, payload: Payload, context: Context) -> BoxFuture<'static, Result<Outcome, HandlerError>>;

    /// The base models that are loaded; their items come first.
    fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why an item could not be run.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// Trying again would end the same way.
    #[error("{0}")]
    Permanent(String),
    /// Trying again may help.
    #[error("{0}")]
    Transient(String),
}

impl From<StoreError> for HandlerError {
    /// Nothing that storage does is for good: a disk is emptied, a damaged artifact written again.
    fn from(error: StoreError) -> Self {
        Self::Transient(error.to_string())
    }
}

/// What an item may use while it runs.
#[derive(Clone, Debug)]
pub struct Context {
    /// Its place.
    pub key: WorkKey,
    /// Which try this is, from 1.
    pub attempt: u32,
    artifacts: ArtifactStore,
    written: Arc<Mutex<Vec<Digest>>>,
    progress: watch::Sender<Progress>,
    cancelled: CancellationToken,
}

impl Context {
    pub(crate) fn new(claim: &Claim, artifacts: ArtifactStore, cancelled: CancellationToken) -> Self {
        Self {
            key: claim.key.clone(),
            attempt: claim.attempt,
            artifacts,
            written: Arc::default(),
            progress: watch::Sender::default(),
            cancelled,
        }
    }

    /// Says how far the item is, from 0 to 1, and what it is doing. An item that says nothing for long shows as stalled.
    pub fn progress(&self, share: f32, note: &str) {
        self.progress.send_replace(Progress {
            share: Some(share),
            note: Some(note.to_owned()),
        });
    }

    /// Whether the outcome is no longer wanted. Code without awaits looks at this from time to time.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Writes an artifact that the outcome will name.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk.
    pub async fn put(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let digest = self.artifacts.put(kind, bytes).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Reads an artifact that the payload names.
    ///
    /// # Errors
    /// When it is not there or damaged.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        self.artifacts.get(digest).await
    }

    pub(crate) fn written(&self) -> Vec<Digest> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn watch_progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}
