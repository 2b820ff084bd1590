//! The folder of adapters that workers and servers share: `FOLDER/DIGEST` holds one adapter. Used ones are held by locks on
//! files, which count across workers and end with their processes.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use lyceum_core::artifact::Digest;
use lyceum_core::work::BaseModel;
use lyceum_models::peft::{AdapterFiles, CONFIG};
use uuid::Uuid;

use super::ServedError;
use super::server::Server;
use super::settings::ServedSettings;
use crate::handler::{Context, HandlerError};

/// Where the locks are, which servers do not read.
const LOCKS: &str = ".locks";
/// Where adapters are written before they get their names.
const PARTS: &str = ".parts";
/// Wait for a lock that somebody holds to delete an adapter.
const WAIT: Duration = Duration::from_millis(50);

/// The folder.
pub(super) struct Adapters {
    path: PathBuf,
    kept: usize,
    resolver: bool,
    /// Those whose files this process has compared with their artifacts.
    seen: Mutex<HashSet<Digest>>,
}

/// Adapters in use.
pub(super) struct Held {
    _locks: Vec<File>,
}

impl Adapters {
    pub(super) fn open(settings: &ServedSettings) -> Result<Self, ServedError> {
        let unusable = |source| ServedError::Folder {
            folder: settings.adapters.clone(),
            source,
        };
        // Servers are told absolute paths.
        let path = std::path::absolute(&settings.adapters).map_err(unusable)?;
        for folder in [LOCKS, PARTS] {
            std::fs::create_dir_all(path.join(folder)).map_err(unusable)?;
        }
        Ok(Self {
            path,
            kept: settings.kept,
            resolver: settings.resolver,
            seen: Mutex::default(),
        })
    }

    /// The folder of an adapter.
    pub(super) fn folder(&self, digest: Digest) -> PathBuf {
        self.path.join(digest.to_string())
    }

    /// Holds adapters, writing those that are missing. They stay until the result is dropped.
    pub(super) async fn hold(
        &self,
        digests: &[Digest],
        base: &BaseModel,
        context: &Context,
        servers: &[Arc<Server>],
    ) -> Result<Held, HandlerError> {
        let mut locks = Vec::new();
        let names: HashSet<PathBuf> = digests.iter().map(|digest| self.lock_file(*digest)).collect();
        for name in names {
            locks.push(shared(&name).await.map_err(|error| unusable(&name, &error))?);
        }
        for digest in digests {
            self.write(*digest, base, context, servers).await?;
        }
        Ok(Held { _locks: locks })
    }

    /// Writes an adapter that is missing, and compares one that is there with its artifact, once.
    async fn write(
        &self,
        digest: Digest,
        base: &BaseModel,
        context: &Context,
        servers: &[Arc<Server>],
    ) -> Result<(), HandlerError> {
        let folder = self.folder(digest);
        let is_seen = self.seen().contains(&digest);
        if !(is_seen && folder.is_dir()) {
            let name = format!("adapter {digest}");
            let mut files = AdapterFiles::from_archive(&name, &context.get(digest).await?)?;
            if self.resolver {
                files.config = named_base(&files.config, &root(servers, base)).map_err(HandlerError::Permanent)?;
            }
            self.place(&folder, &files)?;
            self.seen().insert(digest);
        }
        // The time of its last use, for `trim`.
        let config = folder.join(CONFIG);
        let touched = File::options().append(true).open(&config);
        touched
            .and_then(|file| file.set_modified(SystemTime::now()))
            .map_err(|error| unusable(&config, &error))
    }

    /// Gives `files` their place in one step, so that nobody sees half of them.
    fn place(&self, folder: &Path, files: &AdapterFiles) -> Result<(), HandlerError> {
        if !folder.is_dir() {
            let part = self.path.join(PARTS).join(Uuid::new_v4().to_string());
            files.write(&part)?;
            let placed = std::fs::rename(&part, folder);
            if placed.is_err() {
                // Another worker was first, unless the disk is at fault.
                let _ = std::fs::remove_dir_all(&part);
                if !folder.is_dir() {
                    return placed.map_err(|error| unusable(folder, &error));
                }
            }
        }
        let found = AdapterFiles::read(folder)?;
        if found != *files {
            return Err(HandlerError::Permanent(format!(
                "{} holds another adapter than its name says: delete it, and restart the servers that loaded it",
                folder.display()
            )));
        }
        Ok(())
    }

    /// Deletes the adapters that were not used for longest and that nobody holds, until no more than the setting says are
    /// left.
    pub(super) async fn trim(&self, servers: &[Arc<Server>]) {
        for digest in self.oldest() {
            let Ok(lock) = lock_file(&self.lock_file(digest)) else {
                return;
            };
            if lock.try_lock().is_err() {
                continue;
            }
            for server in servers {
                if let Err(trouble) = server.unload(digest).await {
                    tracing::debug!("cannot unload adapter {digest} from {}: {trouble:?}", server.url);
                }
            }
            self.seen().remove(&digest);
            if let Err(error) = std::fs::remove_dir_all(self.folder(digest)) {
                tracing::warn!("cannot delete {}: {error}", self.folder(digest).display());
            }
        }
    }

    /// The adapters that are too many, the one unused for longest first.
    fn oldest(&self) -> Vec<Digest> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut adapters: Vec<(SystemTime, Digest)> = entries
            .filter_map(|entry| {
                let digest = entry.file_name().to_str()?.parse().ok()?;
                let used = entry.path().join(CONFIG).metadata().and_then(|of| of.modified());
                Some((used.ok()?, digest))
            })
            .collect();
        adapters.sort();
        adapters.truncate(adapters.len().saturating_sub(self.kept));
        adapters.into_iter().map(|(_, digest)| digest).collect()
    }

    /// One lock for many adapters, so that the files do not become more and more.
    fn lock_file(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.path.join(LOCKS).join(&name[..2])
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashSet<Digest>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock_file(path: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

async fn shared(path: &Path) -> std::io::Result<File> {
    let file = lock_file(path)?;
    loop {
        match file.try_lock_shared() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(WAIT).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// What the servers call a base model; its name if none says.
fn root(servers: &[Arc<Server>], base: &BaseModel) -> String {
    let mut roots = servers.iter().filter_map(|server| server.root(&base.name));
    roots.next().unwrap_or_else(|| base.name.clone())
}

/// An adapter's configuration for a base that is called `root`: vLLM's resolver takes no adapter of another.
fn named_base(config: &[u8], root: &str) -> Result<Vec<u8>, String> {
    let mut config: serde_json::Value = serde_json::from_slice(config).map_err(|error| error.to_string())?;
    config["base_model_name_or_path"] = root.into();
    let text = serde_json::to_string_pretty(&config).map_err(|error| error.to_string())?;
    Ok((text + "\n").into_bytes())
}

/// Transient: somebody may make room on the disk.
fn unusable(path: &Path, error: &std::io::Error) -> HandlerError {
    HandlerError::Transient(format!("{}: {error}", path.display()))
}
