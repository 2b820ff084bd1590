//! Adapters that a worker keeps on its disk, so that it reads each of them from the artifact store once.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lyceum_core::artifact::Digest;

use super::{disk, fetch};
use crate::handler::{Context, HandlerError};
use crate::scratch::ScratchFolder;

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
        Self {
            limit,
            kept: Mutex::default(),
        }
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
        let kept = Kept {
            digest,
            bytes: bytes(folder.path()).map_err(disk)?,
            folder: Arc::clone(&folder),
        };
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
        drop(shelf);
        assert!(!four.exists());
    }
}
