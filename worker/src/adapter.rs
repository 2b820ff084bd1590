//! Adapter versions from the artifact store.

use std::fs::File;
use std::io;
use std::io::{BufReader, Seek as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lyceum_core::artifact::Digest;
use lyceum_core::work::AdapterRef;
use lyceum_models::peft::{CONFIG, WEIGHTS, unpack};

use crate::handler::{Context, HandlerError};
use crate::scratch::ScratchFolder;

/// The file of AdamW's moments, a separate artifact from the adapter's.
pub(crate) const OPTIMIZER: &str = "optimizer.safetensors";

/// An adapter version whose files are on this machine's disk. They are never changed.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version.
    pub adapter: AdapterRef,
    folder: Arc<ScratchFolder>,
    /// The folder with its optimizer state.
    optimizer: Option<Arc<ScratchFolder>>,
}

impl Version {
    /// Reads the weights of `adapter` unless the worker has them, and its optimizer state if `with_optimizer`.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn read(context: &Context, adapter: AdapterRef, with_optimizer: bool) -> Result<Self, HandlerError> {
        let name = format!("adapter version {}", adapter.version);
        let folder = context.adapter(&name, adapter.artifact).await?;
        let optimizer = match adapter.optimizer.filter(|_| with_optimizer) {
            Some(digest) => {
                let folder = ScratchFolder::new().map_err(disk)?;
                let file = File::create(folder.path().join(OPTIMIZER)).map_err(disk)?;
                context.fetch(digest, file).await?;
                Some(Arc::new(folder))
            }
            None => None,
        };
        Ok(Self { adapter, folder, optimizer })
    }

    /// The folder of its PEFT files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of its optimizer state, if that was read.
    #[must_use]
    pub fn optimizer(&self) -> Option<&Path> {
        self.optimizer.as_deref().map(ScratchFolder::path)
    }

    /// Gives the files a second place, in a folder that is created. They must not be changed there.
    ///
    /// # Errors
    /// A full disk.
    pub fn link(&self, folder: &Path) -> Result<(), HandlerError> {
        std::fs::create_dir_all(folder).map_err(disk)?;
        let weights = [CONFIG, WEIGHTS].map(|name| (self.folder(), name));
        let state = self.optimizer().map(|folder| (folder, OPTIMIZER));
        for (from, name) in weights.into_iter().chain(state) {
            let (from, to) = (from.join(name), folder.join(name));
            // Disks without links, or two of them.
            let placed = std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop));
            placed.map_err(disk)?;
        }
        Ok(())
    }
}

/// Reads an adapter from the artifact store into `folder`, which exists; `name` stands for it in messages.
pub(crate) async fn fetch(context: &Context, name: &str, digest: Digest, folder: &Path) -> Result<(), HandlerError> {
    let mut archive = tempfile::tempfile_in(folder).map_err(disk)?;
    context.fetch(digest, archive.try_clone().map_err(disk)?).await?;
    let (name, folder) = (name.to_owned(), folder.to_owned());
    blocking(move || {
        archive.rewind().map_err(disk)?;
        Ok(unpack(&name, BufReader::with_capacity(1 << 18, archive), &folder)?)
    })
    .await
}

/// Runs work on files on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| HandlerError::Transient(format!("a thread ended with an error: {error}")))?
}

/// A temporary folder could not be used. Transient: the disk may have space later.
pub(crate) fn disk(error: io::Error) -> HandlerError {
    HandlerError::Transient(format!("files cannot be kept in {}: {error}", std::env::temp_dir().display()))
}

/// Adapters by their digests, up to a number of bytes; the one unused for longest goes first. What an item uses stays on the
/// disk until the item ends.
#[derive(Debug)]
pub struct Shelf {
    limit: u64,
    /// The one used last at the end.
    kept: Mutex<Vec<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    digest: Digest,
    bytes: u64,
    folder: Arc<ScratchFolder>,
}

impl Shelf {
    /// A shelf for `limit` bytes; with 0 nothing is kept. Takes no place before it is used.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    /// The folder with the files of an adapter, from the shelf or the artifact store; `name` stands for it in messages.
    pub(crate) async fn get(
        &self,
        context: &Context,
        name: &str,
        digest: Digest,
    ) -> Result<Arc<ScratchFolder>, HandlerError> {
        if let Some(folder) = self.take(digest) {
            return Ok(folder);
        }
        let folder = ScratchFolder::new().map_err(disk)?;
        fetch(context, name, digest, folder.path()).await?;
        let folder = Arc::new(folder);
        let kept = Kept { digest, bytes: bytes(folder.path()).map_err(disk)?, folder: Arc::clone(&folder) };
        self.keep(kept);
        Ok(folder)
    }

    fn take(&self, digest: Digest) -> Option<Arc<ScratchFolder>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|kept| kept.digest == digest)?;
        let found = kept.remove(place);
        kept.push(found.clone());
        Some(found.folder)
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.digest != new.digest);
        kept.push(new);
        let mut all: u64 = kept.iter().map(|kept| kept.bytes).sum();
        while all > self.limit {
            all -= kept.remove(0).bytes;
        }
    }
}

/// Bytes of the files in a folder.
fn bytes(folder: &Path) -> io::Result<u64> {
    let sizes = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len()));
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(shelf: &Shelf, name: &[u8], bytes: u64) -> std::path::PathBuf {
        let folder = Arc::new(ScratchFolder::new().unwrap());
        let path = folder.path().to_owned();
        shelf.keep(Kept { digest: Digest::of(name), bytes, folder });
        path
    }

    #[test]
    fn the_adapter_unused_for_longest_goes_first_and_one_in_use_stays_on_the_disk() {
        let shelf = Shelf::new(10);
        let [one, two] = [b"1", b"2"].map(|name| kept(&shelf, name, 4));
        let used = shelf.take(Digest::of(b"1")).unwrap();
        assert_eq!(used.path(), one);
        let three = kept(&shelf, b"3", 4);
        assert!(!two.exists() && shelf.take(Digest::of(b"2")).is_none());
        let four = kept(&shelf, b"4", 10);
        assert!(shelf.take(Digest::of(b"1")).is_none() && one.exists(), "it is in use");
        drop(used);
        assert!(!one.exists() && !three.exists() && four.exists());
        assert!(!kept(&shelf, b"5", 11).exists(), "more than there is room for");
        drop(shelf);
        assert!(!four.exists());
    }
}
