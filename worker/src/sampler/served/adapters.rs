//! The folder of adapters that workers and servers share: `FOLDER/DIGEST` holds one adapter. Used ones are held by locks on
//! files, which count across workers and end with their processes.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use lyceum_core::artifact::Digest;
use lyceum_core::work::BaseModel;
use lyceum_models::peft::{AdapterFiles, CONFIG, WEIGHTS};
use lyceum_store::artifact::digest_of;
use uuid::Uuid;

use super::ServedError;
use super::ask::ServedSettings;
use super::base::Zeros;
use super::server::Server;
use crate::adapter::{blocking, fetch};
use crate::handler::{Context, HandlerError};

/// Where the locks are, which servers do not read.
const LOCKS: &str = ".locks";
/// Where adapters are written before they get their names.
const PARTS: &str = ".parts";
/// Wait for a lock that somebody holds to delete an adapter.
const WAIT: Duration = Duration::from_millis(50);
/// A part that is older was left by a worker that was killed: reading an adapter takes minutes.
const LEFT: Duration = Duration::from_secs(24 * 3600);

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

/// A folder in which an adapter is written, deleted on drop.
struct Part(PathBuf);

impl Adapters {
    pub(super) fn open(settings: &ServedSettings) -> Result<Self, ServedError> {
        let unusable = |source| ServedError::Folder { folder: settings.adapters.clone(), source };
        // Servers are told absolute paths.
        let path = std::path::absolute(&settings.adapters).map_err(unusable)?;
        for folder in [LOCKS, PARTS] {
            std::fs::create_dir_all(path.join(folder)).map_err(unusable)?;
        }
        sweep(&path.join(PARTS));
        Ok(Self { path, kept: settings.kept, resolver: settings.resolver, seen: Mutex::default() })
    }

    /// The folder of an adapter.
    pub(super) fn folder(&self, digest: Digest) -> PathBuf {
        self.path.join(digest.to_string())
    }

    /// Holds adapters, writing those that are missing: artifacts, and one of zeros. They stay until the result is dropped.
    pub(super) async fn hold(
        &self,
        digests: &[Digest],
        zeros: Option<&Zeros>,
        base: &BaseModel,
        context: &Context,
        servers: &[Arc<Server>],
    ) -> Result<Held, HandlerError> {
        let mut locks = Vec::new();
        let all = digests.iter().copied().chain(zeros.map(|zeros| zeros.digest));
        let names: HashSet<PathBuf> = all.map(|digest| self.lock_file(digest)).collect();
        for name in names {
            locks.push(shared(&name).await.map_err(|error| unusable(&name, &error))?);
        }
        for digest in digests {
            self.write(*digest, None, base, context, servers).await?;
        }
        if let Some(Zeros { digest, files }) = zeros {
            self.write(*digest, Some(files), base, context, servers).await?;
        }
        Ok(Held { _locks: locks })
    }

    /// Writes an adapter that is missing, and compares one that is there with its artifact, once. Without `files` it is fetched.
    async fn write(
        &self,
        digest: Digest,
        files: Option<&AdapterFiles>,
        base: &BaseModel,
        context: &Context,
        servers: &[Arc<Server>],
    ) -> Result<(), HandlerError> {
        let folder = self.folder(digest);
        let is_seen = self.seen().contains(&digest);
        if !(is_seen && folder.is_dir()) {
            let part = Part::new(self.path.join(PARTS).join(Uuid::new_v4().to_string()))?;
            match files {
                Some(files) => files.write(&part.0)?,
                None => fetch(context, &format!("adapter {digest}"), digest, &part.0).await?,
            }
            if self.resolver {
                let path = part.0.join(CONFIG);
                let config = std::fs::read(&path).map_err(|error| unusable(&path, &error))?;
                let config = named_base(&config, &root(servers, base)).map_err(HandlerError::Permanent)?;
                std::fs::write(&path, config).map_err(|error| unusable(&path, &error))?;
            }
            let to = folder.clone();
            blocking(move || part.place(&to)).await?;
            self.seen().insert(digest);
        }
        // The time of its last use, for `trim`.
        let config = folder.join(CONFIG);
        let touched = File::options().append(true).open(&config);
        touched.and_then(|file| file.set_modified(SystemTime::now())).map_err(|error| unusable(&config, &error))
    }

    /// Deletes the adapters that were not used for longest and that nobody holds, until no more than the setting says are
    /// left.
    pub(super) async fn trim(&self, servers: &[Arc<Server>]) {
        for digest in self.oldest() {
            let Ok(lock) = lock_file(&self.lock_file(digest)) else { return };
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

impl Part {
    fn new(path: PathBuf) -> Result<Self, HandlerError> {
        // Servers read it, who may be other users.
        std::fs::create_dir_all(&path).map_err(|error| unusable(&path, &error))?;
        Ok(Self(path))
    }

    /// Gives the adapter its place in one step, so that nobody sees half of it.
    fn place(&self, folder: &Path) -> Result<(), HandlerError> {
        if !folder.is_dir() {
            match std::fs::rename(&self.0, folder) {
                Ok(()) => return Ok(()),
                // Another worker was first, unless the disk is at fault.
                Err(_) if folder.is_dir() => {}
                Err(error) => return Err(unusable(folder, &error)),
            }
        }
        for name in [CONFIG, WEIGHTS] {
            let (new, old) = (self.0.join(name), folder.join(name));
            let digest = |path: &Path| {
                let digest = File::open(path).and_then(|mut file| digest_of(&mut file));
                digest.map_err(|error| unusable(path, &error))
            };
            if digest(&new)? != digest(&old)? {
                return Err(HandlerError::Permanent(format!(
                    "{} holds another adapter than its name says: delete it, and restart the servers that loaded it",
                    folder.display()
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has another place if all went well.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes what killed workers left half written.
fn sweep(parts: &Path) {
    for entry in std::fs::read_dir(parts).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|of| of.modified());
        if changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_left_a_day_ago_is_removed_and_a_young_one_is_not() {
        let parts = tempfile::tempdir().unwrap();
        let [left, young] = ["left", "young"].map(|name| parts.path().join(name));
        for part in [&left, &young] {
            std::fs::create_dir(part).unwrap();
        }
        let long_ago = SystemTime::now() - 2 * LEFT;
        File::open(&left).unwrap().set_modified(long_ago).unwrap();
        sweep(parts.path());
        assert!(!left.exists() && young.exists());
    }
}
