//! The interface for running items.

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

/// Runs items of one kind. An item's result depends only on its payload; a retried item starts over.
///
/// CPU-bound code belongs in `tokio::task::spawn_blocking` or on its own thread: there are as many handler threads as
/// cores, and a handler that blocks one delays the others.
pub trait Handler: Send + Sync {
    /// The kind of work.
    fn kind(&self) -> WorkKind;

    /// Runs one item to its outcome. May be dropped at any await when the item is cancelled or given to another worker.
    fn run(self: Arc<Self>, payload: Payload, context: Context) -> BoxFuture<'static, Result<Outcome, HandlerError>>;

    /// The loaded base models; their items are preferred.
    fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why an item could not be run.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// Retrying would fail the same way.
    #[error("{0}")]
    Permanent(String),
    /// Retrying may help.
    #[error("{0}")]
    Transient(String),
}

impl From<StoreError> for HandlerError {
    /// All storage errors are transient: disk space is freed, a damaged artifact is rewritten.
    fn from(error: StoreError) -> Self {
        Self::Transient(error.to_string())
    }
}

/// The context of a running item.
#[derive(Clone, Debug)]
pub struct Context {
    /// The item's key.
    pub key: WorkKey,
    /// The number of this try, from 1.
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

    /// Reports the item's progress, from 0 to 1, and current activity. An item without reports for long is shown as
    /// stalled.
    pub fn progress(&self, share: f32, note: &str) {
        self.progress.send_replace(Progress {
            share: Some(share),
            note: Some(note.to_owned()),
        });
    }

    /// Whether the item was cancelled. Code without awaits must check this from time to time.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Writes an artifact for the outcome to refer to.
    ///
    /// # Errors
    /// If it cannot be written, for example because the disk is full.
    pub async fn put(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let digest = self.artifacts.put(kind, bytes).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Reads an artifact of the payload.
    ///
    /// # Errors
    /// If it is missing or damaged.
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
