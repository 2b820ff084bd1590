//! Large files, which the hub keeps in a store of its own (the batch API of git LFS).

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::io::{Seek as _, SeekFrom};
use ureq::SendBody;

use super::{HubPush, Repository, Upload};

/// The media type of git LFS.
const LFS: &str = "application/vnd.git-lfs+json";
/// The hub takes no larger file in one piece.
const LARGEST: u64 = 5_000_000_000;

impl HubPush {
    /// Sends the files at the paths `large` to the store, unless it has them.
    pub(super) fn store(&self, repository: &Repository, files: &mut [Upload], large: &[String]) -> anyhow::Result<()> {
        let mut wanted: Vec<&mut Upload> = files.iter_mut().filter(|file| large.contains(&file.path)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if let Some(file) = wanted.iter().find(|file| file.size > LARGEST) {
            bail!("{} has {} bytes; the hub takes at most {LARGEST} in one piece", file.path, file.size);
        }
        let objects: Vec<Value> = wanted.iter().map(|file| json!({"oid": file.oid, "size": file.size})).collect();
        let body = json!({
            "operation": "upload",
            "transfers": ["basic"],
            "hash_algo": "sha256",
            "ref": {"name": "refs/heads/main"},
            "objects": objects,
        });
        let prefix = repository.kind.prefix();
        let path = format!("/{prefix}{}.git/info/lfs/objects/batch", repository.name());
        let answer = self.post(&path, LFS, &body.to_string(), repository)?;
        for object in answer["objects"].as_array().into_iter().flatten() {
            let file = wanted.iter_mut().find(|file| object["oid"] == file.oid.as_str());
            let file = file.context("the hub asks for a file that was not offered")?;
            if let Some(said) = object["error"]["message"].as_str() {
                bail!("the hub does not take {}: {said}", file.path);
            }
            // Without an action the store has it already.
            let upload = &object["actions"]["upload"];
            if upload.is_object() {
                self.put(upload, file)?;
            }
            let verify = &object["actions"]["verify"];
            if verify.is_object() {
                self.verify(verify, file)?;
            }
        }
        Ok(())
    }

    fn put(&self, action: &Value, file: &mut Upload) -> anyhow::Result<()> {
        let href = action["href"].as_str().context("the hub does not say where to upload")?;
        file.file.seek(SeekFrom::Start(0))?;
        let mut request = self.agent.put(href).header("content-length", file.size.to_string());
        for (name, value) in headers(action) {
            request = request.header(name, value);
        }
        let sent = request.send(SendBody::from_reader(&mut file.file));
        let response = sent.with_context(|| format!("the upload of {} broke off", file.path))?;
        match response.status().is_success() {
            true => Ok(()),
            false => bail!("the hub's store answers {} for {}", response.status(), file.path),
        }
    }

    fn verify(&self, action: &Value, file: &Upload) -> anyhow::Result<()> {
        let href = action["href"].as_str().context("the hub does not say where to confirm an upload")?;
        let mut request = self.agent.post(href).header("content-type", LFS);
        for (name, value) in headers(action) {
            request = request.header(name, value);
        }
        let body = json!({"oid": file.oid, "size": file.size}).to_string();
        let response = request.send(body).with_context(|| format!("cannot confirm the upload of {}", file.path))?;
        match response.status().is_success() {
            true => Ok(()),
            false => bail!("the hub's store answers {} when {} is confirmed", response.status(), file.path),
        }
    }
}

/// The headers that an action wants.
fn headers(action: &Value) -> impl Iterator<Item = (&str, &str)> {
    let named = action["header"].as_object().into_iter().flatten();
    named.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}
