//! Models by name: a folder, or an id on the Hugging Face hub.

use std::path::{Path, PathBuf};

use crate::error::{EngineError, Result};

/// The folder of a model given by its path or (with the feature `hub`) by an id such as `Qwen/Qwen2.5-0.5B`, which is
/// looked up in the local hub cache and fetched if missing. A cached model is never looked up on the hub, so it loads
/// without a network and does not change.
pub fn model_folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(name);
    if folder.join("config.json").exists() {
        return Ok(folder.to_owned());
    }
    if folder.exists() {
        return Err(EngineError::file(
            folder,
            "has no config.json, so it is not a model folder",
        ));
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
    if let Some(folder) = cached(&hf_hub::Cache::from_env(), name) {
        return Ok(folder);
    }
    let refuse = |error: hf_hub::api::sync::ApiError| EngineError::file(name, format!("not on the hub: {error}"));
    let repository = hf_hub::api::sync::ApiBuilder::from_env()
        .build()
        .map_err(refuse)?
        .model(name.to_owned());
    let config = repository.get("config.json").map_err(refuse)?;
    let wanted =
        |file: &str| file.ends_with(".safetensors") || file.ends_with(".json") || file == "chat_template.jinja";
    let mut files: Vec<String> = repository
        .info()
        .map_err(refuse)?
        .siblings
        .into_iter()
        .map(|file| file.rfilename)
        // Only the top folder: some repositories keep other formats in subfolders.
        .filter(|file| wanted(file) && !file.contains('/'))
        .collect();
    // The weights come last, so that a folder with weights is complete.
    files.sort_by_key(|file| file.ends_with(".safetensors"));
    for file in files {
        repository.get(&file).map_err(refuse)?;
    }
    config
        .parent()
        .map(Path::to_owned)
        .ok_or_else(|| EngineError::file(config.clone(), "is outside the hub cache"))
}

/// The folder of a model if the cache has its configuration, tokenizer and all weights.
#[cfg(feature = "hub")]
fn cached(cache: &hf_hub::Cache, name: &str) -> Option<PathBuf> {
    let repository = cache.model(name.to_owned());
    let folder = repository.get("config.json")?.parent()?.to_owned();
    repository.get("tokenizer.json")?;
    crate::weights::Checkpoint::from_model_folder(&folder).ok()?;
    Some(folder)
}

#[cfg(all(test, feature = "hub"))]
mod tests {
    use std::path::Path;

    use super::cached;

    #[test]
    fn a_model_is_taken_from_the_cache_once_all_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = hf_hub::Cache::new(folder.path().to_owned());
        let repository = cache.model("some/model".to_owned());
        repository.create_ref("0123abcd").unwrap();
        let snapshot = repository.pointer_path("0123abcd");
        std::fs::create_dir_all(&snapshot).unwrap();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/qwen2-untied-sharded");
        for file in [
            "config.json",
            "model-00001-of-00003.safetensors",
            "model-00003-of-00003.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
            "model-00002-of-00003.safetensors",
        ] {
            assert_eq!(cached(&cache, "some/model"), None);
            std::fs::copy(model.join(file), snapshot.join(file)).unwrap();
        }
        assert_eq!(cached(&cache, "some/model"), Some(snapshot));
        assert_eq!(cached(&cache, "some/other"), None);
    }
}
