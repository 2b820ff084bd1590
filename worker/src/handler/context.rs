//! The context of a running item.

use lyceum_core::{
    artifact::{ArtifactKind, Digest},
    work::WorkKey,
};
use lyceum_store::{StoreError, artifact::ArtifactStore, work::Progress};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The artifacts of an item.
#[derive(Clone, Debug)]
pub struct Artifacts {
    /// Read from the first of these that has the artifact.
    pub read: Vec<ArtifactStore>,
    /// New artifacts are written here.
    pub write: ArtifactStore,
}

impl From<ArtifactStore> for Artifacts {
    fn from(store: ArtifactStore) -> Self {
        Self {
            read: vec![store.clone()],
            write: store,
        }
    }
}

/// The context of a running item.
#[derive(Clone, Debug)]
pub struct Context {
    /// The item's key.
    pub key: WorkKey,
    /// The number of this try, from 1.
    pub attempt: u32,
    artifacts: Artifacts,
    written: Arc<Mutex<Vec<Digest>>>,
    progress: watch::Sender<Progress>,
    cancelled: CancellationToken,
}

impl Context {
    /// The context of try number `attempt` of the item at `key`.
    pub(crate) fn new(key: WorkKey, attempt: u32, artifacts: Artifacts, cancelled: CancellationToken) -> Self {
        Self {
            key,
            attempt,
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
        let digest = self.artifacts.write.put(kind, bytes).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Reads an artifact of the payload.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        let mut missing = StoreError::not_found("artifact", digest);
        for store in &self.artifacts.read {
            match store.get(digest).await {
                Err(error @ StoreError::NotFound { .. }) => missing = error,
                read => return read,
            }
        }
        Err(missing)
    }

    pub(crate) fn written(&self) -> Vec<Digest> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn watch_progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}
