//! Files and folders of a worker that are deleted when they are of no more use, at the latest by the next worker: all are in
//! one folder of the process, which a worker that finds it without its process removes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::{NamedTempFile, TempDir};

/// How the folders of workers in the temporary folder begin.
const PREFIX: &str = "lyceum-worker-";
/// The prefix of releases that kept only adapters there.
const EARLIER: &str = "lyceum-adapters-";
/// The file that a worker locks in its folder while it lives.
const LOCK: &str = "lock";

/// The folder of this process, while there is something in it.
static HOME: Mutex<Weak<Home>> = Mutex::new(Weak::new());

/// A folder that is deleted on drop.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    _home: Arc<Home>,
}

/// A file that is deleted on drop.
#[derive(Debug)]
pub struct ScratchFile {
    file: NamedTempFile,
    _home: Arc<Home>,
}

impl ScratchFolder {
    /// An empty folder.
    ///
    /// # Errors
    /// A full disk.
    pub(crate) fn new() -> io::Result<Self> {
        let home = home()?;
        Ok(Self { folder: tempfile::tempdir_in(home.folder.path())?, _home: home })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl ScratchFile {
    /// An empty file.
    ///
    /// # Errors
    /// A full disk.
    pub(crate) fn new() -> io::Result<Self> {
        let home = home()?;
        Ok(Self { file: NamedTempFile::new_in(home.folder.path())?, _home: home })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Its handle.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }
}

fn home() -> io::Result<Arc<Home>> {
    let mut home = HOME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(home) = home.upgrade() {
        return Ok(home);
    }
    let new = Arc::new(Home::open(&std::env::temp_dir())?);
    *home = Arc::downgrade(&new);
    Ok(new)
}

/// The folder of a process.
#[derive(Debug)]
struct Home {
    folder: TempDir,
    _lock: File,
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
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if ![PREFIX, EARLIER].iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn whatever_an_item_leaves_is_in_the_folder_of_its_worker_until_it_is_dropped() {
        let (folder, file) = (ScratchFolder::new().unwrap(), ScratchFile::new().unwrap());
        let home = folder.path().parent().unwrap().to_owned();
        assert_eq!(file.path().parent(), Some(&*home));
        assert!(home.join(LOCK).exists());
        let paths = [folder.path(), file.path()].map(Path::to_owned);
        drop((folder, file));
        assert!(!paths.iter().any(|path| path.exists()));
    }
}
