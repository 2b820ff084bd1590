//! Base models by their names in configs.

use std::path::{Path, PathBuf};

use lyceum_core::artifact::Digest;
use lyceum_core::work::BaseModel;
use sha2::{Digest as _, Sha256};

use crate::error::{ModelError, Result};
use crate::hub;

/// The folder of models that are named by a subfolder, such as `seedling`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelsFolder(PathBuf);

impl ModelsFolder {
    /// `named`, else `models` in the current folder or above it or above the running executable.
    pub fn resolve(named: Option<&Path>) -> Self {
        let above =
            |start: PathBuf| start.ancestors().map(|folder| folder.join("models")).find(|models| models.is_dir());
        let found = named.map(Path::to_owned).or_else(|| {
            let here = std::env::current_dir().ok().and_then(above);
            here.or_else(|| std::env::current_exe().ok().and_then(above))
        });
        Self(found.unwrap_or_else(|| PathBuf::from("models")))
    }

    /// The folder of a model: a subfolder of this one, or one in the hub's cache. Errors say nothing of the rest of the
    /// machine.
    ///
    /// # Errors
    /// [`ModelError::Base`] for a name that no machine may have. [`ModelError::Lacking`] if the name is neither that of a folder
    /// nor on the hub; [`ModelError::Unreachable`] if the hub does not respond.
    pub fn locate(&self, base: &BaseModel) -> Result<PathBuf> {
        let name = &base.name;
        if let Some(fault) = base.name_fault() {
            return Err(ModelError::Base(format!("base model `{name}`: {fault}")));
        }
        let lacking = |why: String| ModelError::Lacking(format!("base model `{name}`: {why}"));
        let inside = self.0.join(name);
        if inside.join("config.json").is_file() {
            return Ok(inside);
        }
        if inside.is_dir() {
            return Err(lacking("its folder has no config.json, so it is not a model folder".to_owned()));
        }
        if !name.contains('/') {
            let shown = "the worker's models folder (`--models`) has no such folder";
            return Err(lacking(format!("{shown}; a model of the hub is named like `Qwen/Qwen2.5-0.5B`")));
        }
        if !hub::is_cached(name) {
            tracing::info!(base_model = %name, "fetching base model {name} from the hub");
        }
        hub::hub_model(name).map_err(|error| match error {
            ModelError::Unreachable { .. } => error,
            _ => lacking(format!("the worker's models folder (`--models`) has no such folder; {error}")),
        })
    }
}

/// Refuses a folder whose weights are not those of the revision. A revision of a folder is the SHA-256 of its weight files in
/// name order; one of the hub is not checked.
///
/// # Errors
/// [`ModelError::Lacking`] if the weights are others; they cannot be read.
pub fn check_revision(base: &BaseModel, folder: &Path) -> Result<()> {
    let Some(revision) = base.revision.as_ref().filter(|revision| revision.len() == 64) else { return Ok(()) };
    let unreadable = |error: std::io::Error| ModelError::io(folder, error);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        std::io::copy(&mut std::fs::File::open(file).map_err(unreadable)?, &mut hash).map_err(unreadable)?;
    }
    let found = Digest(hash.finalize().into()).to_string();
    if found == *revision {
        return Ok(());
    }
    Err(ModelError::Lacking(format!("base model `{}` has revision {found}; {revision} was requested", base.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(models: &Path, name: &str) -> std::result::Result<PathBuf, String> {
        let base = BaseModel { name: name.to_owned(), revision: None };
        let models = ModelsFolder::resolve(Some(models));
        models.locate(&base).map_err(|error| error.to_string())
    }

    #[test]
    fn what_this_machine_lacks_is_told_from_a_name_that_no_machine_may_have() {
        let folder = tempfile::tempdir().unwrap();
        let models = ModelsFolder::resolve(Some(folder.path()));
        for name in ["empty", "other"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("other/model.safetensors"), "other weights").unwrap();
        let base = |name: &str| BaseModel { name: name.to_owned(), revision: Some("0".repeat(64)) };
        let lacks = |error: &ModelError| matches!(error, ModelError::Lacking(_));
        for name in ["missing", "empty"] {
            assert!(models.locate(&base(name)).is_err_and(|error| lacks(&error)), "{name}");
        }
        assert!(models.locate(&base("../other")).is_err_and(|error| !lacks(&error)));
        assert!(check_revision(&base("other"), &folder.path().join("other")).is_err_and(|error| lacks(&error)));
    }

    #[test]
    fn a_folder_outside_of_the_models_folder_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models");
        for place in ["models/base", "elsewhere"] {
            std::fs::create_dir_all(folder.path().join(place)).unwrap();
            std::fs::write(folder.path().join(place).join("config.json"), "{}").unwrap();
        }
        assert_eq!(located(&models, "base"), Ok(models.join("base")));
        let there = folder.path().join("elsewhere").display().to_string();
        let missing = folder.path().join("nowhere").display().to_string();
        for (exists, does_not) in [(there.as_str(), missing.as_str()), ("../elsewhere", "../nowhere")] {
            let told = [exists, does_not].map(|name| located(&models, name).unwrap_err().replace(name, "NAME"));
            assert_eq!(told[0], told[1], "the error tells whether the path exists");
        }
        let told = located(&models, "elsewhere").unwrap_err();
        assert!(!told.contains(models.to_str().unwrap()), "{told}");
    }
}
