//! Files of datasets on the Hugging Face hub.

use std::fs::File;
use std::io::{Seek as _, copy};
use std::time::Duration;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};

/// A file and its commit.
pub(super) struct Found {
    pub(super) file: File,
    pub(super) revision: String,
}

/// Downloads `OWNER/NAME[@REVISION]/FILE`, by default from the newest commit. `HF_ENDPOINT` and `HF_TOKEN` are used as
/// in huggingface_hub.
pub(super) fn download(path: &str) -> anyhow::Result<Found> {
    let mut parts = path.splitn(3, '/');
    let (Some(owner), Some(name), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("`hf://datasets/{path}` is not the address of a file, such as hf://datasets/OWNER/NAME[@REVISION]/FILE");
    };
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".to_owned());
    let address = format!(
        "{}/datasets/{owner}/{name}/resolve/{revision}/{file}",
        endpoint.trim_end_matches('/')
    );
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(20)))
        .build()
        .into();
    let mut request = agent.get(&address);
    if let Ok(token) = std::env::var("HF_TOKEN") {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let cannot = || format!("cannot read {address}; download the file yourself and give its path");
    let mut response = request.call().with_context(cannot)?;
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let commit = header("x-repo-commit").unwrap_or_else(|| revision.to_owned());
    let length = header("content-length").and_then(|length| length.parse().ok());
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta} left") {
        bar.set_style(style);
    }
    let mut file = tempfile::tempfile().context("cannot create a file for the download")?;
    copy(&mut bar.wrap_read(response.body_mut().as_reader()), &mut file).with_context(cannot)?;
    file.rewind()?;
    bar.finish_and_clear();
    Ok(Found { file, revision: commit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_a_file_is_refused() {
        let error = download("owner/name").err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("OWNER/NAME[@REVISION]/FILE")));
    }
}
