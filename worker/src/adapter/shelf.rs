//! Adapters that a worker keeps on its disk, so that it reads each of them from the artifact store once.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lyceum_core::artifact::Digest;
use tempfile::TempDir;

use super::{disk, fetch};
use crate::handler::{Context, HandlerError};

/// How the folders of workers in the temporary folder begin.
const PREFIX: &str = "lyceum-adapters-";
/// The file that a worker locks in its folder while it lives.
const LOCK: &str = "lock";

/// Adapters by their digests, up to a number of bytes; the one unused for longest goes first. What an item uses stays on the
/// disk until the item ends.
#[derive(Debug)]
pub struct Shelf {
    limit: u64,
    /// The one used last at the end.
    kept: Mutex<Vec<Kept>>,
    home: Mutex<Option<Home>>,
}

#[derive(Clone, Debug)]
struct Kept {
    digest: Digest,
    bytes: u64,
    folder: Arc<TempDir>,
}

/// The folder of this worker.
#[derive(Debug)]
struct Home {
    folder: TempDir,
    _lock: File,
}

impl Shelf {
    /// A shelf for `limit` bytes; with 0 nothing is kept. Takes no place before it is used.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
            home: Mutex::default(),
        }
    }

    /// The folder with the files of an adapter, from the shelf or the artifact store; `name` stands for it in messages.
    pub(crate) async fn get(
        &self,
        context: &Context,
        name: &str,
        digest: Digest,
    ) -> Result<Arc<TempDir>, HandlerError> {
        if let Some(folder) = self.take(digest) {
            return Ok(folder);
        }
        let folder = self.folder().map_err(disk)?;
        fetch(context, name, digest, folder.path()).await?;
        let folder = Arc::new(folder);
        let kept = Kept {
            digest,
            bytes: bytes(folder.path()).map_err(disk)?,
            folder: Arc::clone(&folder),
        };
        self.keep(kept);
        Ok(folder)
    }

    fn take(&self, digest: Digest) -> Option<Arc<TempDir>> {
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

    /// A new folder for an adapter.
    fn folder(&self) -> io::Result<TempDir> {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        let home = match &mut *home {
            Some(home) => home,
            none => none.insert(Home::open(&std::env::temp_dir())?),
        };
        tempfile::tempdir_in(home.folder.path())
    }
}

impl Home {
    fn open(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Nobody sees the file before it is locked.
        let unlocked = folder.path().join("unlocked");
        let lock = File::create(&unlocked)?;
        lock.lock()?;
        std::fs::rename(&unlocked, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }
}

/// Removes the folders of workers that were killed.
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
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
        let folder = Arc::new(shelf.folder().unwrap());
        let path = folder.path().to_owned();
        shelf.keep(Kept {
            digest: Digest::of(name),
            bytes,
            folder,
        });
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
        let home = four.parent().unwrap().to_owned();
        drop(shelf);
        assert!(!home.exists());
    }

    #[test]
    fn the_folder_of_a_worker_that_was_killed_is_removed_and_that_of_one_that_lives_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let lives = Home::open(parent.path()).unwrap();
        let killed = Home::open(parent.path()).unwrap();
        let left = killed.folder.keep();
        drop(killed._lock);
        let mine = Home::open(parent.path()).unwrap();
        assert!(!left.exists() && lives.folder.path().exists() && mine.folder.path().exists());
    }
}
