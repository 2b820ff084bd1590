//! Models by name: a folder, or an id on the Hugging Face hub.

#[cfg(feature = "hub")]
mod client;
#[cfg(feature = "hub")]
mod http;

use std::path::{Path, PathBuf};

#[cfg(feature = "hub")]
use client::{fetch, fetch_adapter, in_cache};
#[cfg(feature = "hub")]
pub use http::{Download, HubClient, HubError, Listing};

use crate::error::{ModelError, Result};

/// Whether the hub's cache on this machine has the model `id`.
pub fn is_cached(id: &str) -> bool {
    in_cache(id)
}

/// The folder of the model `id` in the hub's cache, fetched if it is not there. Unlike [`model_folder`], never a folder
/// elsewhere.
///
/// # Errors
/// An id that the hub does not have or refuses, and [`ModelError::Unreachable`] if the hub does not answer.
pub fn hub_model(id: &str) -> Result<PathBuf> {
    fetch(id)
}

/// The folder of the adapter `id`, as in `OWNER/NAME` or `OWNER/NAME@REVISION`, in the hub's cache, fetched if it is not there.
///
/// # Errors
/// As [`hub_model`]; or its weights are a pickle.
pub fn hub_adapter(id: &str) -> Result<PathBuf> {
    fetch_adapter(id)
}

/// The folder of a model given by its path or (with the feature `hub`) by an id such as `Qwen/Qwen2.5-0.5B`, which is
/// looked up in the local hub cache and fetched if missing. A cached model is never looked up on the hub, so it loads
/// without a network and does not change.
///
/// # Errors
/// A folder without `config.json`, an id that the hub does not have or refuses, and [`ModelError::Unreachable`] if the hub
/// does not answer.
pub fn model_folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(name);
    if folder.join("config.json").exists() {
        return Ok(folder.to_owned());
    }
    if folder.exists() {
        return Err(ModelError::file(folder, "has no config.json, so it is not a model folder"));
    }
    fetch(name)
}

#[cfg(not(feature = "hub"))]
fn in_cache(_: &str) -> bool {
    false
}

#[cfg(not(feature = "hub"))]
fn fetch_adapter(name: &str) -> Result<PathBuf> {
    fetch(name)
}

#[cfg(not(feature = "hub"))]
fn fetch(name: &str) -> Result<PathBuf> {
    Err(ModelError::file(name, "no such folder, and this build has no hub support (feature `hub`)"))
}
