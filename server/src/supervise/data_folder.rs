//! The data folder: created, checked, and locked against a second `lyceum up`.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

/// The version of the data folder's layout; incremented when a release cannot use the previous one.
const FORMAT: u32 = 1;
const FORMAT_FILE: &str = "format";
const LOCK_FILE: &str = "lock";
const ADDRESS_FILE: &str = "address";
const ADMIN_TOKEN_FILE: &str = "admin-token";
const SETTINGS_FILE: &str = "lyceum.toml";
const ARTIFACTS: &str = "artifacts";

/// The mode of files: readable only by the owner.
const PRIVATE: u32 = 0o600;

/// A data folder locked by this process until the value is dropped.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    _lock: File,
    made: Made,
    was_stopped: bool,
}

/// The state before opening, restored if the start fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Nothing,
    Contents,
    Folder,
}

/// Why a data folder cannot be used. Every message ends with a fix.
#[derive(Debug, thiserror::Error)]
pub enum DataFolderError {
    /// It cannot be created or written.
    #[error("cannot {action} {}: {source}; choose another data folder with --data", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It contains something else.
    #[error("{} is neither empty nor a data folder of Lyceum; choose another one with --data", .0.display())]
    SomethingElse(PathBuf),
    /// It has another owner.
    #[error(
        "{} belongs to user {owner}, but this process runs as {me}; run as {owner}, or choose another data folder with --data",
        path.display()
    )]
    OtherOwner {
        /// The folder.
        path: PathBuf,
        owner: String,
        /// This process's user.
        me: String,
    },
    /// It was created by another release.
    #[error(
        "{} has format {found}, this release of Lyceum reads format {FORMAT}; use the release that made it \
         (docs/OPERATING.md, Upgrading)",
        path.display()
    )]
    OtherFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: String,
    },
    /// It is in use.
    #[error("{} is in use by another `lyceum up`{}; stop that one, or choose another data folder with --data",
        path.display(), at.as_ref().map(|at| format!(", at {at}")).unwrap_or_default())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The address of that server.
        at: Option<String>,
    },
}

type Result<T> = std::result::Result<T, DataFolderError>;

impl DataFolder {
    /// Opens `path`, creating it if necessary.
    ///
    /// # Errors
    /// All of [`DataFolderError`].
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(failed("resolve", path))?;
        check(&path)?;
        let made = match (path.exists(), path.join(FORMAT_FILE).exists()) {
            (false, _) => Made::Folder,
            (true, false) => Made::Contents,
            (true, true) => Made::Nothing,
        };
        fs::create_dir_all(&path).map_err(failed("make the folder", &path))?;
        // Root's Postgres runs as another user, which needs to traverse the folder.
        let mode = if geteuid().is_root() { 0o711 } else { 0o700 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(failed("set the mode of", &path))?;
        let lock = path.join(LOCK_FILE);
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(PRIVATE)
            .open(&lock)
            .map_err(failed("write", &lock))?;
        if file.try_lock().is_err() {
            return Err(DataFolderError::InUse { at: fs::read_to_string(path.join(ADDRESS_FILE)).ok(), path });
        }
        let folder = Self {
            // The address is withdrawn by every stop.
            was_stopped: !path.join(ADDRESS_FILE).exists(),
            path,
            _lock: file,
            made,
        };
        folder.write(FORMAT_FILE, &format!("{FORMAT}\n"))?;
        folder.close()?;
        Ok(folder)
    }

    /// Makes everything in the folder the owner's alone, also what earlier releases and editors left readable. Postgres
    /// sees to its own part.
    fn close(&self) -> Result<()> {
        for entry in fs::read_dir(&self.path).map_err(failed("list", &self.path))?.flatten() {
            let path = entry.path();
            let mode = match entry.file_type() {
                Ok(kind) if kind.is_file() => PRIVATE,
                Ok(kind) if kind.is_dir() && entry.file_name() == ARTIFACTS => 0o700,
                _ => continue,
            };
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(failed("set the mode of", &path))?;
        }
        Ok(())
    }

    /// The folder for artifacts of the data folder `data`.
    pub fn artifacts(data: &Path) -> PathBuf {
        data.join(ARTIFACTS)
    }

    /// Restores the folder to its state before opening, if it was new.
    pub fn abandon(self) {
        if self.made == Made::Nothing {
            return;
        }
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name() != SETTINGS_FILE {
                let path = entry.path();
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        }
        if self.made == Made::Folder {
            let _ = fs::remove_dir(&self.path);
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first admin token, if it exists.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn admin_token(&self) -> Result<Option<String>> {
        let file = admin_token_file(&self.path);
        match fs::read_to_string(&file) {
            Ok(token) => Ok(Some(token.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &file)(error)),
        }
    }

    /// Stores the first admin token, readable only by the owner.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_admin_token(&self, token: &str) -> Result<()> {
        self.write(ADMIN_TOKEN_FILE, &format!("{token}\n"))
    }

    /// Publishes the server's address for other processes until this one ends.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn announce(&self, address: &str) -> Result<()> {
        self.write(ADDRESS_FILE, address)
    }

    /// Withdraws the address, because the server is being stopped.
    pub fn withdraw(&self) {
        let _ = fs::remove_file(self.path.join(ADDRESS_FILE));
    }

    /// Whether the last process that announced an address here was stopped in order.
    pub fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    /// Written to a temporary file and renamed, so it is never incomplete.
    fn write(&self, name: &str, text: &str) -> Result<()> {
        let goal = self.path.join(name);
        let partial = self.path.join(format!("{name}.partial"));
        let _ = fs::remove_file(&partial);
        let written =
            fs::OpenOptions::new().create_new(true).write(true).mode(PRIVATE).open(&partial).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
        written.and_then(|()| fs::rename(&partial, &goal)).map_err(failed("write", &goal))
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// The path of the first admin token in the data folder `data`.
pub fn admin_token_file(data: &Path) -> PathBuf {
    data.join(ADMIN_TOKEN_FILE)
}

/// The address of the `lyceum up` running on the data folder `data`, if any.
pub fn announced_address(data: &Path) -> Option<String> {
    let lock = File::open(data.join(LOCK_FILE)).ok()?;
    match lock.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => fs::read_to_string(data.join(ADDRESS_FILE)).ok(),
        _ => None,
    }
}

/// Checks whether this process can use `path` as its data folder. Changes nothing.
///
/// # Errors
/// All of [`DataFolderError`] but `InUse`.
pub fn check(path: &Path) -> Result<()> {
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let owner = Uid::from_raw(meta.uid());
    if owner != geteuid() {
        return Err(DataFolderError::OtherOwner { path: path.to_owned(), owner: name(owner), me: name(geteuid()) });
    }
    match fs::read_to_string(path.join(FORMAT_FILE)) {
        Ok(found) if found.trim() == FORMAT.to_string() => Ok(()),
        Ok(found) => Err(DataFolderError::OtherFormat { path: path.to_owned(), found: found.trim().to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut entries = fs::read_dir(path).map_err(failed("list", path))?;
            let ours = |name: &std::ffi::OsStr| name == SETTINGS_FILE || name == LOCK_FILE;
            let strange = entries.any(|entry| entry.is_ok_and(|entry| !ours(&entry.file_name())));
            if strange { Err(DataFolderError::SomethingElse(path.to_owned())) } else { Ok(()) }
        }
        Err(error) => Err(failed("read", &path.join(FORMAT_FILE))(error)),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DataFolderError {
    let path = path.to_owned();
    move |source| DataFolderError::Io { action, path, source }
}

fn name(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}
