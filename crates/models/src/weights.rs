//! The files of a model folder that hold its weights.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::read_json;
use crate::error::{ModelError, Result};

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The weight files of a folder: `model.safetensors`, or the shards of `model.safetensors.index.json`.
///
/// # Errors
/// One of them is missing.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    let single = folder.join("model.safetensors");
    let files: Vec<PathBuf> = if single.exists() || !index.exists() {
        vec![single]
    } else {
        let Index { weight_map } = read_json(&index)?;
        let names: BTreeSet<String> = weight_map.into_values().collect();
        names.into_iter().map(|name| folder.join(name)).collect()
    };
    match files.iter().find(|file| !file.exists()) {
        Some(missing) => Err(ModelError::file(missing, "is missing")),
        None => Ok(files),
    }
}
