//! Models and adapters of the Hugging Face hub, in its cache on this machine. The folders are those of huggingface_hub, so
//! that what either has fetched serves both.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use hf_hub::{Cache, Repo, RepoType};
use sha2::{Digest as _, Sha256};

use super::http::{Download, HubClient, HubError};
use crate::error::{ModelError, Result};
use crate::{peft, weights};

/// Bytes between two lines of the log about a large file.
const PROGRESS: u64 = 100 << 20;

/// A hub, and the cache of what was fetched from it.
struct Hub {
    client: HubClient,
    cache: Cache,
}

/// Whether the cache has all of the model `name`.
pub(super) fn in_cache(name: &str) -> bool {
    Hub::from_env().cached(name).is_some()
}

/// The folder of the model `name` in the cache, fetched if it is not there.
pub(super) fn fetch(name: &str) -> Result<PathBuf> {
    Hub::from_env().model(name)
}

/// The folder of the adapter `name` in the cache, fetched if it is not there.
pub(super) fn fetch_adapter(name: &str) -> Result<PathBuf> {
    Hub::from_env().adapter(name)
}

impl Hub {
    /// The hub of the environment. Here the token of `hf auth login` counts too: a server must not read datasets for others
    /// with the login of whoever started it.
    fn from_env() -> Self {
        let cache = Cache::from_env();
        Self { client: HubClient::from_env().or_token(cache.token()), cache }
    }

    /// The folder of `name` in the cache, fetched if it is not there.
    fn model(&self, name: &str) -> Result<PathBuf> {
        if let Some(folder) = self.cached(name) {
            return Ok(folder);
        }
        let wanted =
            |file: &str| file.ends_with(".safetensors") || file.ends_with(".json") || file == "chat_template.jinja";
        self.fetch(name, name, "main", |files| {
            // Only the top folder: some repositories keep other formats in subfolders.
            let mut files: Vec<String> = files.filter(|file| wanted(file) && !file.contains('/')).collect();
            // The weights come last, so that a folder with weights is complete.
            files.sort_by_key(|file| file.ends_with(".safetensors"));
            Ok(files)
        })
    }

    /// The folder of a model if the cache has its configuration, tokenizer and all weights.
    fn cached(&self, name: &str) -> Option<PathBuf> {
        let repository = self.cache.model(name.to_owned());
        let folder = repository.get("config.json")?.parent()?.to_owned();
        repository.get("tokenizer.json")?;
        weights::files(&folder).ok()?;
        Some(folder)
    }

    /// The folder of an adapter in the cache, fetched if it is not there.
    fn adapter(&self, name: &str) -> Result<PathBuf> {
        let (id, revision) = name.split_once('@').unwrap_or((name, "main"));
        let cached = self.cache.repo(Repo::with_revision(id.to_owned(), RepoType::Model, revision.to_owned()));
        if let (Some(config), Some(_)) = (cached.get(peft::CONFIG), cached.get(peft::WEIGHTS)) {
            return Ok(config.parent().map(Path::to_owned).unwrap_or_default());
        }
        self.fetch(name, id, revision, |files| {
            let files: Vec<String> = files.collect();
            let has = |wanted: &str| files.iter().any(|file| file == wanted);
            match (has(peft::CONFIG) && has(peft::WEIGHTS), has(peft::PICKLE)) {
                (true, _) => Ok(vec![peft::CONFIG.to_owned(), peft::WEIGHTS.to_owned()]),
                (false, true) => Err(ModelError::file(name, peft::PICKLED)),
                (false, false) => {
                    let detail = format!("it has no {} and {}, so it is no adapter", peft::CONFIG, peft::WEIGHTS);
                    Err(ModelError::file(name, detail))
                }
            }
        })
    }

    /// The folder in the cache of a revision of the repository `id`, with the files that `choose` takes of all. Messages
    /// call it `name`.
    fn fetch(
        &self,
        name: &str,
        id: &str,
        revision: &str,
        choose: impl FnOnce(&mut dyn Iterator<Item = String>) -> Result<Vec<String>>,
    ) -> Result<PathBuf> {
        let repo = Repo::with_revision(id.to_owned(), RepoType::Model, revision.to_owned());
        let path = format!("models/{id}/revision/{}", revision.replace('/', "%2F"));
        let listing =
            self.client.list(&path, &format!("model or adapter {id}")).map_err(|error| self.refused(name, error))?;
        let commit = listing.sha.clone();
        if !is_plain(&commit) {
            return Err(ModelError::file(name, format!("the hub calls its commit `{commit}`")));
        }
        let files = choose(&mut listing.into_files())?;
        let locks = self.cache.path().join(".locks").join(repo.folder_name());
        let repository = self.cache.repo(repo);
        let folder = repository.pointer_path(&commit);
        let blobs = folder.parent().and_then(Path::parent).unwrap_or(&folder).join("blobs");
        for folder in [&folder, &blobs, &locks] {
            std::fs::create_dir_all(folder).map_err(|error| ModelError::io(folder, error))?;
        }
        let lock = locks.join(format!("{commit}.lock"));
        // Others who fetch the same wait here, and then find the files.
        let _held = File::create(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| ModelError::io(&lock, error))?;
        for file in &files {
            let place = folder.join(file);
            if !place.exists() {
                let partial = blobs.join(format!("{commit}-{file}.incomplete"));
                let blob = self.download(name, &format!("{id}/resolve/{commit}/{file}"), file, &partial)?;
                // A link to a blob that somebody has removed.
                let _ = std::fs::remove_file(&place);
                std::os::unix::fs::symlink(Path::new("../../blobs").join(blob), &place)
                    .map_err(|error| ModelError::io(&place, error))?;
            }
        }
        repository.create_ref(&commit).map_err(|error| ModelError::io(&folder, error))?;
        Ok(folder)
    }

    /// Fetches the file at `path` of the hub, on from what `partial` has of it, and returns its name among the blobs. A
    /// transfer that breaks off goes on as long as each attempt brings something.
    fn download(&self, name: &str, path: &str, file: &str, partial: &Path) -> Result<String> {
        let unwritten = |error| ModelError::io(partial, error);
        let what = format!("{file} of {name}");
        let mut kept = File::options().read(true).append(true).create(true).open(partial).map_err(unwritten)?;
        loop {
            let have = kept.metadata().map_err(unwritten)?.len();
            let mut download = match self.client.open(path, &what, have) {
                // Nothing is left to send, or the file has changed.
                Err(HubError::Status { status: 416, .. }) if have > 0 => {
                    kept.set_len(0).map_err(unwritten)?;
                    continue;
                }
                other => other.map_err(|error| self.refused(name, error))?,
            };
            if download.start != have {
                kept.set_len(0).map_err(unwritten)?;
            }
            match copied(&mut download, &mut kept, &what) {
                Ok(()) => {
                    let blob = checked(&download, &mut kept).map_err(unwritten)?;
                    let blob = blob.map_err(|detail| {
                        // Other bytes are asked for next time.
                        let _ = std::fs::remove_file(partial);
                        self.refused(
                            name,
                            HubError::Unreadable { url: format!("{}/{path}", self.client.endpoint()), detail },
                        )
                    })?;
                    std::fs::rename(partial, partial.with_file_name(&blob)).map_err(unwritten)?;
                    return Ok(blob);
                }
                Err(Broken::Written(error)) => return Err(unwritten(error)),
                Err(Broken::Read(error)) => {
                    if kept.metadata().map_err(unwritten)?.len() <= have {
                        let url = format!("{}/{path}", self.client.endpoint());
                        return Err(self.refused(name, HubError::Unreadable { url, detail: error.to_string() }));
                    }
                    tracing::info!("{what} broke off: {error}; going on from there");
                }
            }
        }
    }

    /// What the hub does not have or refuses is told from a hub that does not answer, which may do so later.
    fn refused(&self, name: &str, error: HubError) -> ModelError {
        let endpoint = self.client.endpoint();
        match error {
            HubError::NotFound(detail) => {
                ModelError::file(name, format!("no such folder, and {detail} ({endpoint}); correct the name"))
            }
            HubError::NotAllowed { .. } => {
                ModelError::file(name, format!("no such folder, and on {endpoint}, {error}"))
            }
            HubError::TooMany { .. } | HubError::Status { .. } | HubError::Unreadable { .. } => {
                ModelError::Unreachable {
                    name: name.to_owned(),
                    endpoint: endpoint.to_owned(),
                    cache: self.cache.path().clone(),
                    problem: error.to_string(),
                }
            }
        }
    }
}

/// Why a transfer ended early.
enum Broken {
    Read(std::io::Error),
    Written(std::io::Error),
}

fn copied(download: &mut Download, kept: &mut File, what: &str) -> std::result::Result<(), Broken> {
    let mut buffer = vec![0; 1 << 20];
    let mut have = download.start;
    loop {
        let read = download.read(&mut buffer).map_err(Broken::Read)?;
        if read == 0 {
            return Ok(());
        }
        std::io::Write::write_all(kept, &buffer[..read]).map_err(Broken::Written)?;
        let before = have / PROGRESS;
        have += read as u64;
        if have / PROGRESS > before {
            let of = download.length.map_or(String::new(), |length| format!(" of {}", length >> 20));
            tracing::info!("{what}: {}{of} MiB", have >> 20);
        }
    }
}

/// The name of a complete file among the blobs, which is its ETag; or why it is not what the hub announced.
fn checked(download: &Download, kept: &mut File) -> std::io::Result<std::result::Result<String, String>> {
    let size = kept.metadata()?.len();
    if let Some(length) = download.length.filter(|length| *length != size) {
        return Ok(Err(format!("it has {size} bytes instead of {length}")));
    }
    let etag = download.etag.as_deref().map(|etag| etag.trim_start_matches("W/").trim_matches('"'));
    let sha256 = |kept: &mut File| -> std::io::Result<String> {
        kept.seek(SeekFrom::Start(0))?;
        let mut hash = Sha256::new();
        std::io::copy(kept, &mut hash)?;
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    match etag.filter(|etag| is_plain(etag)) {
        // Of files in the hub's store it is the SHA-256 of their content.
        Some(etag) if etag.len() == 64 => {
            let found = sha256(kept)?;
            Ok(if found == etag { Ok(found) } else { Err(format!("its SHA-256 is {found} instead of {etag}")) })
        }
        Some(etag) => Ok(Ok(etag.to_owned())),
        None => sha256(kept).map(Ok),
    }
}

/// Whether a text of the hub can be the name of a file.
fn is_plain(text: &str) -> bool {
    let fits = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    !text.is_empty() && text.chars().all(fits)
}
