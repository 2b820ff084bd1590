//! The Hugging Face hub and its cache on this machine.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};

use crate::error::{ModelError, Result};
use crate::{peft, weights};

/// A hub, and the cache of what was fetched from it.
struct Hub {
    endpoint: String,
    cache: Cache,
    token: Option<String>,
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
    /// From the environment variables that Hugging Face's own tools read.
    fn from_env() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let cache = Cache::from_env();
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned()),
            token: variable("HF_TOKEN").or_else(|| cache.token()),
            cache,
        }
    }

    /// The folder of `name` in the cache, fetched if it is not there.
    fn model(&self, name: &str) -> Result<PathBuf> {
        match self.cached(name) {
            Some(folder) => Ok(folder),
            None => self.download(name).map_err(|error| self.refused(name, error)),
        }
    }

    /// The folder of a model if the cache has its configuration, tokenizer and all weights.
    fn cached(&self, name: &str) -> Option<PathBuf> {
        let repository = self.cache.model(name.to_owned());
        let folder = repository.get("config.json")?.parent()?.to_owned();
        repository.get("tokenizer.json")?;
        weights::files(&folder).ok()?;
        Some(folder)
    }

    fn download(&self, name: &str) -> std::result::Result<PathBuf, ApiError> {
        let repository = self.api()?.model(name.to_owned());
        let config = repository.get("config.json")?;
        let wanted =
            |file: &str| file.ends_with(".safetensors") || file.ends_with(".json") || file == "chat_template.jinja";
        let files = repository.info()?.siblings.into_iter().map(|file| file.rfilename);
        // Only the top folder: some repositories keep other formats in subfolders.
        let mut files: Vec<String> = files.filter(|file| wanted(file) && !file.contains('/')).collect();
        // The weights come last, so that a folder with weights is complete.
        files.sort_by_key(|file| file.ends_with(".safetensors"));
        for file in files {
            repository.get(&file)?;
        }
        Ok(config.parent().map(Path::to_owned).unwrap_or_default())
    }

    /// The folder of an adapter in the cache, fetched if it is not there.
    fn adapter(&self, name: &str) -> Result<PathBuf> {
        let (id, revision) = name.split_once('@').unwrap_or((name, "main"));
        let repository = Repo::with_revision(id.to_owned(), RepoType::Model, revision.to_owned());
        let cached = self.cache.repo(repository.clone());
        if let (Some(config), Some(_)) = (cached.get(peft::CONFIG), cached.get(peft::WEIGHTS)) {
            return Ok(config.parent().map(Path::to_owned).unwrap_or_default());
        }
        let remote = self.api().map_err(|error| self.refused(name, error))?.repo(repository);
        let fetched = remote.get(peft::CONFIG).and_then(|config| {
            remote.get(peft::WEIGHTS)?;
            Ok(config)
        });
        match fetched {
            Ok(config) => Ok(config.parent().map(Path::to_owned).unwrap_or_default()),
            Err(error) => {
                let files = remote.info().map(|info| info.siblings).unwrap_or_default();
                if files.iter().any(|file| file.rfilename == peft::PICKLE) {
                    return Err(ModelError::file(name, peft::PICKLED));
                }
                Err(self.refused(name, error))
            }
        }
    }

    fn api(&self) -> std::result::Result<Api, ApiError> {
        ApiBuilder::from_cache(self.cache.clone())
            .with_endpoint(self.endpoint.clone())
            .with_token(self.token.clone())
            .build()
    }

    fn refused(&self, name: &str, error: ApiError) -> ModelError {
        let endpoint = &self.endpoint;
        let status = match &error {
            ApiError::RequestError(error) => match **error {
                ureq::Error::StatusCode(status) if status < 500 => Some(status),
                _ => None,
            },
            _ => None,
        };
        match status {
            Some(status) => ModelError::file(
                name,
                format!(
                    "no such folder, and {endpoint} gives no such model (status {status}); correct the name, or set \
                     HF_TOKEN if the model is gated"
                ),
            ),
            None => ModelError::Unreachable {
                name: name.to_owned(),
                endpoint: endpoint.clone(),
                cache: self.cache.path().clone(),
                problem: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const COMMIT: &str = "0123abcd";
    const FILES: [&str; 6] = [
        "config.json",
        "model-00001-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
        "model-00002-of-00003.safetensors",
    ];

    fn model() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/models/qwen2-untied-sharded")
    }

    fn hub(endpoint: String, cache: &Path) -> Hub {
        Hub { endpoint, cache: Cache::new(cache.to_owned()), token: None }
    }

    /// A hub on this machine that has `some/model` alone; ends with the test.
    fn serve() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap())));
        format!("http://{address}")
    }

    fn answer(mut stream: TcpStream) {
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head: Vec<String> = lines.map(|line| line.unwrap()).take_while(|line| !line.is_empty()).collect();
        let path = head[0].split(' ').nth(1).unwrap();
        let mut send = |head: &str, body: &[u8]| {
            write!(stream, "HTTP/1.1 {head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()).unwrap();
            stream.write_all(body).unwrap();
        };
        let listed: &[&str] = match path {
            "/api/models/some/model/revision/main" => &FILES,
            "/api/models/some/pickle/revision/main" => &[peft::CONFIG, peft::PICKLE],
            _ => &[],
        };
        // Of a model its files, and of an adapter files with their names in them.
        let found = path.split_once("/resolve/").and_then(|(repository, place)| {
            let (revision, file) = place.split_once('/')?;
            match (repository, revision) {
                ("/some/model", "main") => Some((file, std::fs::read(model().join(file)).ok()?)),
                ("/some/adapter", "main" | "v1") => Some((file, file.as_bytes().to_vec())),
                ("/some/pickle", "main") if file == peft::CONFIG => Some((file, file.as_bytes().to_vec())),
                _ => None,
            }
        });
        if !listed.is_empty() {
            let files: Vec<_> = listed.iter().map(|file| serde_json::json!({ "rfilename": file })).collect();
            let info = serde_json::json!({ "sha": COMMIT, "siblings": files });
            send("200 OK\r\n", info.to_string().as_bytes());
        } else if let Some((file, bytes)) = found {
            let asked = if head.iter().any(|line| line.ends_with("bytes=0-0")) { 1 } else { bytes.len() };
            let head = format!(
                "206 Partial Content\r\nETag: \"{file}\"\r\nX-Repo-Commit: {COMMIT}\r\nContent-Range: bytes 0-{}/{}\r\n",
                asked - 1,
                bytes.len()
            );
            send(&head, &bytes[..asked]);
        } else {
            send("404 Not Found\r\n", b"");
        }
    }

    #[test]
    fn a_model_is_taken_from_the_cache_once_all_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(String::new(), folder.path());
        let repository = hub.cache.model("some/model".to_owned());
        repository.create_ref(COMMIT).unwrap();
        let snapshot = repository.pointer_path(COMMIT);
        std::fs::create_dir_all(&snapshot).unwrap();
        for file in FILES {
            assert_eq!(hub.cached("some/model"), None);
            std::fs::copy(model().join(file), snapshot.join(file)).unwrap();
        }
        assert_eq!(hub.cached("some/model"), Some(snapshot));
        assert_eq!(hub.cached("some/other"), None);
    }

    #[test]
    fn a_model_is_fetched_once_and_then_needs_no_hub() {
        let folder = tempfile::tempdir().unwrap();
        let fetched = hub(serve(), folder.path()).model("some/model").unwrap();
        for file in FILES {
            assert_eq!(std::fs::read(fetched.join(file)).unwrap(), std::fs::read(model().join(file)).unwrap());
        }
        assert_eq!(hub("http://127.0.0.1:1".to_owned(), folder.path()).model("some/model").unwrap(), fetched);
    }

    #[test]
    fn an_adapter_is_fetched_once_and_a_pickle_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["some/adapter", "some/adapter@v1"] {
            let fetched = hub(serve(), folder.path()).adapter(name).unwrap();
            for file in [peft::CONFIG, peft::WEIGHTS] {
                assert_eq!(std::fs::read_to_string(fetched.join(file)).unwrap(), file);
            }
            let again = hub("http://127.0.0.1:1".to_owned(), folder.path()).adapter(name);
            assert_eq!(again.unwrap(), fetched);
        }
        let said = hub(serve(), folder.path()).adapter("some/pickle").unwrap_err().to_string();
        assert!(said.starts_with("some/pickle: ") && said.contains(peft::PICKLE), "{said}");
        let said = hub(serve(), folder.path()).adapter("some/other").unwrap_err().to_string();
        assert!(said.contains("(status 404)"), "{said}");
    }

    #[test]
    fn a_model_that_the_hub_does_not_give_is_told_from_a_hub_that_cannot_be_reached() {
        let folder = tempfile::tempdir().unwrap();
        let said = hub(serve(), folder.path()).model("some/other").unwrap_err().to_string();
        assert!(said.contains("gives no such model (status 404)") && said.contains("HF_TOKEN"), "{said}");

        let nobody = "127.0.0.1:1";
        let error = hub(format!("http://{nobody}"), folder.path()).model("some/model").unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
        let said = error.to_string();
        for part in ["`some/model`", nobody, folder.path().to_str().unwrap()] {
            assert!(said.contains(part), "no {part} in: {said}");
        }
    }
}
