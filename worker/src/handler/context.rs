//! The context of a running item.

use lyceum_core::{
    artifact::{ArtifactKind, Digest},
    work::WorkKey,
};
use lyceum_store::{
    StoreError,
    artifact::{ArtifactStore, digest_of},
    work::Progress,
};
use std::{
    fs::File,
    io::Seek as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::HandlerError;
use crate::{
    adapter::{Shelf, blocking, disk},
    scratch::ScratchFolder,
};

/// The artifacts of an item.
#[derive(Clone, Debug)]
pub struct Artifacts {
    /// Read from the first of these that has the artifact.
    pub read: Vec<ArtifactStore>,
    /// New artifacts are written here.
    pub write: ArtifactStore,
    /// Adapters that were read.
    pub adapters: Arc<Shelf>,
}

impl Artifacts {
    /// Artifacts of `store`, with `bytes` of adapters kept on this machine.
    #[must_use]
    pub fn keeping(store: ArtifactStore, bytes: u64) -> Self {
        Self {
            read: vec![store.clone()],
            write: store,
            adapters: Arc::new(Shelf::new(bytes)),
        }
    }
}

impl From<ArtifactStore> for Artifacts {
    /// Keeps no adapters.
    fn from(store: ArtifactStore) -> Self {
        Self::keeping(store, 0)
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

    /// Writes an artifact from a file, a part at a time, for the outcome to refer to.
    ///
    /// # Errors
    /// As [`Context::put`]; or the file cannot be read.
    pub async fn put_file(&self, kind: ArtifactKind, path: &Path) -> Result<Digest, HandlerError> {
        let path = path.to_owned();
        let (file, digest, bytes) = blocking(move || {
            let mut file = File::open(path).map_err(disk)?;
            let (digest, bytes) = digest_of(&mut file).map_err(disk)?;
            file.rewind().map_err(disk)?;
            Ok((file, digest, bytes))
        })
        .await?;
        self.artifacts.write.put_file(kind, digest, file, bytes).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Appends an artifact of the payload to `file`, a piece at a time.
    ///
    /// # Errors
    /// As [`Context::get`]; or the file cannot be written.
    pub async fn fetch(&self, digest: Digest, file: File) -> Result<(), HandlerError> {
        let mut missing = StoreError::not_found("artifact", digest);
        for store in &self.artifacts.read {
            match store.get_file(digest, file.try_clone().map_err(disk)?).await {
                Err(error @ StoreError::NotFound { .. }) => missing = error,
                read => return Ok(read.map(drop)?),
            }
        }
        Err(missing.into())
    }

    /// The folder with the files of an adapter of the payload, which is read unless the worker has it; `name` stands for it in
    /// messages.
    ///
    /// # Errors
    /// As [`Context::fetch`].
    pub(crate) async fn adapter(&self, name: &str, digest: Digest) -> Result<Arc<ScratchFolder>, HandlerError> {
        self.artifacts.adapters.get(self, name, digest).await
    }

    pub(crate) fn written(&self) -> Vec<Digest> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn watch_progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}
