//! Models by name: a folder, or an id on the Hugging Face hub.

use std::path::{Path, PathBuf};

use crate::error::{EngineError, Result};

/// The folder of a model that is named by its path, or (with the feature `hub`) by an id such as `Qwen/Qwen2.5-0.5B`,
/// which is looked up in the local hub cache and fetched if it is not there.
pub fn model_folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(name);
    if folder.join("config.json").exists() {
        return Ok(folder.to_owned());
    }
    if folder.exists() {
        return Err(EngineError::file(folder, "has no config.json; a model folder has one"));
    }
    fetch(name)
}

#[cfg(not(feature = "hub"))]
fn fetch(name: &str) -> Result<PathBuf> {
    Err(EngineError::file(
        name,
        "no such folder, and this build has no hub support (feature `hub`)",
    ))
}

#[cfg(feature = "hub")]
fn fetch(name: &str) -> Result<PathBuf> {
    let refuse = |error: hf_hub::api::sync::ApiError| EngineError::file(name, format!("not on the hub: {error}"));
    let repository = hf_hub::api::sync::ApiBuilder::from_env()
        .build()
        .map_err(refuse)?
        .model(name.to_owned());
    let config = repository.get("config.json").map_err(refuse)?;
    let wanted =
        |file: &str| file.ends_with(".safetensors") || file.ends_with(".json") || file == "chat_template.jinja";
    for file in repository.info().map_err(refuse)?.siblings {
        // Only the top folder: some repositories keep other formats below it.
        if wanted(&file.rfilename) && !file.rfilename.contains('/') {
            repository.get(&file.rfilename).map_err(refuse)?;
        }
    }
    config
        .parent()
        .map(Path::to_owned)
        .ok_or_else(|| EngineError::file(config.clone(), "lies outside the hub cache"))
}
