//! The model that training starts from.

use std::path::Path;

use anyhow::{Context as _, ensure};
use lyceum_core::artifact::Digest;
use lyceum_engine::{Model, Placement};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::training::Totals;

/// A model that training started from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The model folder as it was named.
    pub(super) model: String,
    /// SHA-256 of its `model.safetensors`.
    pub(super) sha256: String,
    /// The start and the cost of training that model.
    pub(super) training: Option<Box<Totals>>,
}

/// Loads a model that has the architecture and the tokenizer in `wanted`, which may have more tokens at its end.
pub(super) fn load(folder: &Path, wanted: &Path, placement: Placement) -> anyhow::Result<Model> {
    for file in ["config.json", "tokenizer.json"] {
        let (found, wanted) = (json(&folder.join(file))?, json(&wanted.join(file))?);
        ensure!(
            found == wanted || is_extended(&found, &wanted),
            "--from {}: its {file} differs from the one that this config makes",
            folder.display()
        );
    }
    Ok(Model::load(folder, placement)?)
}

/// Whether the tokenizer `longer` is `shorter` with more tokens at the end, whose ids the model has spare.
fn is_extended(shorter: &Value, longer: &Value) -> bool {
    const LISTS: [&str; 2] = ["/added_tokens", "/model/vocab"];
    let length = |of: &Value, list| of.pointer(list).and_then(Value::as_array).map(Vec::len);
    let mut cut = longer.clone();
    for list in LISTS {
        let (Some(length), Some(Value::Array(tokens))) = (length(shorter, list), cut.pointer_mut(list)) else {
            return false;
        };
        tokens.truncate(length);
    }
    cut == *shorter
}

/// What `training.json` says of the model.
pub(super) fn describe(folder: &Path) -> anyhow::Result<Origin> {
    let weights = folder.join("model.safetensors");
    let bytes = std::fs::read(&weights).with_context(|| weights.display().to_string())?;
    let training = folder.join("training.json");
    Ok(Origin {
        model: folder.display().to_string(),
        sha256: Digest::of(&bytes).to_string(),
        training: if training.exists() { Some(Box::new(serde_json::from_value(json(&training)?)?)) } else { None },
    })
}

fn json(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}
