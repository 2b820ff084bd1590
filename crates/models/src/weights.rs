//! The files of a model folder that hold its weights.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
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
/// One of them is missing, or a Git LFS pointer.
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
    let missing: Vec<String> = files.iter().filter(|file| !file.exists()).map(|file| file_name(file)).collect();
    match missing.as_slice() {
        [] => {}
        [_] if !index.exists() => return Err(ModelError::file(folder, without_weights(folder))),
        missing => {
            let shards = match files.len() {
                1 => "its weights are".to_owned(),
                all => format!("{} of {all} weight files are", missing.len()),
            };
            let reason = format!("{shards} missing: {}; download them into the folder", missing.join(", "));
            return Err(ModelError::file(folder, reason));
        }
    }
    for file in &files {
        refuse_pointer(file)?;
    }
    Ok(files)
}

/// Why a folder has neither `model.safetensors` nor an index of shards.
fn without_weights(folder: &Path) -> String {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| file_name(&entry.path())).collect())
        .unwrap_or_default();
    names.sort();
    let first = |end: &str| names.iter().find(|name| name.ends_with(end));
    let is_shard = |name: &&String| name.starts_with("model-") && name.ends_with(".safetensors");
    if let Some(shard) = names.iter().find(is_shard) {
        return format!("model.safetensors.index.json is missing, though there are shards such as {shard}");
    }
    if let Some(other) = [".bin", ".pt", ".pth", ".ckpt"].into_iter().find_map(first) {
        return format!(
            "its weights are in {other}, a pickle, which could run code and is not read: save the model as safetensors \
             (`save_pretrained`), or take a revision that has model.safetensors"
        );
    }
    if let Some(other) = [".gguf", ".h5", ".msgpack", ".onnx"].into_iter().find_map(first) {
        return format!("its weights are in {other}; only safetensors are read: take a folder with model.safetensors");
    }
    if let Some(other) = first("adapter_model.safetensors") {
        return format!("it is an adapter ({other}) and not a model: name the folder of its base");
    }
    "model.safetensors is missing".to_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

const START: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Why a pointer is refused.
pub(crate) const POINTER: &str =
    "is a Git LFS pointer and not the file itself: fetch it with `git lfs pull`, or download the folder from the hub";

/// Whether the bytes are those of a pointer.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

/// Refuses a file that is a pointer.
///
/// # Errors
/// It is one, or it cannot be read.
pub fn refuse_pointer(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    read.map_err(|source| ModelError::io(path, source))?;
    if is_pointer(&start) { Err(refusal(path)) } else { Ok(()) }
}

pub(crate) fn refusal(path: &Path) -> ModelError {
    ModelError::file(path, POINTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a folder with these files.
    fn said(names: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in names {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        match files(folder.path()) {
            Ok(files) => format!("{} files", files.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_a_folder_lacks_is_said_in_one_line() {
        let index = (
            "model.safetensors.index.json",
            r#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}}"#,
        );
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
        assert_eq!(said(&[("model.safetensors", "")]), "1 files");
        assert_eq!(said(&[index, ("1.safetensors", ""), ("2.safetensors", "")]), "2 files");
        for (names, parts) in [
            (&[][..], &["model.safetensors is missing"][..]),
            (&[index, ("1.safetensors", "")], &["1 of 2", "2.safetensors"]),
            (&[index], &["2 of 2", "1.safetensors, 2.safetensors"]),
            (&[("pytorch_model.bin", "")], &["pytorch_model.bin", "safetensors"]),
            (&[("model.Q4_K_M.gguf", "")], &["model.Q4_K_M.gguf"]),
            (&[("model-00001-of-00002.safetensors", "")], &["model.safetensors.index.json is missing"]),
            (&[("adapter_model.safetensors", "")], &["an adapter"]),
            (&[("model.safetensors", pointer)], &["model.safetensors", "Git LFS"]),
            (&[("model.safetensors.index.json", pointer)], &["index.json", "Git LFS"]),
            (&[index, ("1.safetensors", ""), ("2.safetensors", pointer)], &["2.safetensors", "Git LFS"]),
        ] {
            let said = said(names);
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
            assert!(!said.contains('\n') && !said.contains("os error"), "{said}");
        }
    }
}
