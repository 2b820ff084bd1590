//! Uploads to the Hugging Face hub: a repository is made if there is none, and all files are one commit. Large files go to
//! the hub's store first, as git LFS has it. `HF_ENDPOINT` and `HF_TOKEN` are used as in huggingface_hub.

mod large;
mod repository;

pub(crate) use repository::{Kind, Repository};

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ureq::http::Response;
use ureq::{Agent, Body};

/// Bytes of a file by which the hub decides how it is kept.
const SAMPLE: u64 = 512;

/// A file to be uploaded.
pub(crate) struct Upload {
    /// Its path in the repository.
    pub(crate) path: String,
    file: std::fs::File,
    size: u64,
    oid: String,
}

impl Upload {
    /// The content of `file`, from its beginning.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn new(path: String, mut file: std::fs::File) -> anyhow::Result<Self> {
        file.rewind()?;
        let mut hash = Sha256::new();
        let size = std::io::copy(&mut file, &mut hash)?;
        let oid = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { path, file, size, oid })
    }

    fn start(&mut self, bytes: u64) -> anyhow::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut read = Vec::new();
        (&self.file).take(bytes).read_to_end(&mut read)?;
        Ok(read)
    }
}

/// A hub that files are pushed to.
pub(crate) struct HubPush {
    agent: Agent,
    endpoint: String,
    token: String,
}

impl HubPush {
    /// The hub of the environment.
    ///
    /// # Errors
    /// There is no token.
    pub(crate) fn from_env() -> anyhow::Result<Self> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let token = set("HF_TOKEN").context("set HF_TOKEN to a token of the hub that may write to the repository")?;
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(120)));
        Ok(Self { agent: config.build().into(), endpoint: endpoint.trim_end_matches('/').to_owned(), token })
    }

    /// Uploads `files` as one commit and returns the address of the repository.
    ///
    /// # Errors
    /// The token may not write, or the hub cannot be reached or refuses.
    pub(crate) fn push(
        &self,
        repository: &Repository,
        is_private: bool,
        message: &str,
        files: &mut [Upload],
    ) -> anyhow::Result<String> {
        self.create(repository, is_private)?;
        let large = self.large(repository, files)?;
        self.store(repository, files, &large)?;
        let mut lines = vec![json!({"key": "header", "value": {"summary": message, "description": ""}})];
        for file in files.iter_mut() {
            lines.push(match large.contains(&file.path) {
                true => json!({
                    "key": "lfsFile",
                    "value": {"path": file.path, "algo": "sha256", "oid": file.oid, "size": file.size},
                }),
                false => {
                    let content = STANDARD.encode(file.start(file.size)?);
                    json!({"key": "file", "value": {"path": file.path, "content": content, "encoding": "base64"}})
                }
            });
        }
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = format!("/api/{}/{}/commit/main", repository.kind.plural(), repository.name());
        self.post(&path, "application/x-ndjson", &body, repository)?;
        Ok(format!("{}/{}{}", self.endpoint, repository.kind.prefix(), repository.name()))
    }

    fn create(&self, repository: &Repository, is_private: bool) -> anyhow::Result<()> {
        let body = json!({
            "type": repository.kind.name(),
            "name": repository.short,
            "organization": repository.owner,
            "private": is_private,
        });
        let mut response = self.send("/api/repos/create", "application/json", &body.to_string())?;
        match response.status().as_u16() {
            // It is there already.
            200..300 | 409 => Ok(()),
            _ => bail!("{}", refusal(&mut response, repository)),
        }
    }

    /// The paths of files that the hub keeps in its store.
    fn large(&self, repository: &Repository, files: &mut [Upload]) -> anyhow::Result<Vec<String>> {
        let mut asked = Vec::new();
        for file in files {
            let sample = STANDARD.encode(file.start(SAMPLE)?);
            asked.push(json!({"path": file.path, "size": file.size, "sample": sample}));
        }
        let path = format!("/api/{}/{}/preupload/main", repository.kind.plural(), repository.name());
        let body = json!({ "files": asked }).to_string();
        let answer = self.post(&path, "application/json", &body, repository)?;
        let modes = answer["files"].as_array().into_iter().flatten();
        let large = modes.filter(|file| file["uploadMode"] == "lfs");
        Ok(large.filter_map(|file| file["path"].as_str().map(str::to_owned)).collect())
    }

    fn send(&self, path: &str, content_type: &str, body: &str) -> anyhow::Result<Response<Body>> {
        let url = format!("{}{path}", self.endpoint);
        self.agent
            .post(&url)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", content_type)
            .send(body)
            .map_err(|error| anyhow::anyhow!("cannot reach {url}: {error}; check HF_ENDPOINT and the network"))
    }

    fn post(&self, path: &str, content_type: &str, body: &str, repository: &Repository) -> anyhow::Result<Value> {
        let mut response = self.send(path, content_type, body)?;
        match response.status().as_u16() {
            200..300 => Ok(response.body_mut().read_json().unwrap_or_default()),
            _ => bail!("{}", refusal(&mut response, repository)),
        }
    }
}

/// Why the hub refused.
fn refusal(response: &mut Response<Body>, repository: &Repository) -> String {
    let status = response.status();
    let answer: Value = response.body_mut().read_json().unwrap_or_default();
    let said = answer["error"].as_str().map_or(String::new(), |said| format!(": {said}"));
    let name = repository.name();
    match status.as_u16() {
        401 | 403 => {
            format!("the hub does not let HF_TOKEN write to {name}{said}; use a token with write access to it")
        }
        _ => format!("the hub answers {status} for {name}{said}"),
    }
}
