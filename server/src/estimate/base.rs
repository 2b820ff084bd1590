//! The dimensions of base models known to this machine.

use lyceum_core::footprint::BaseShape;
use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Maximum bytes of a `config.json`.
const CONFIG: u64 = 1 << 20;

/// The folder of named models, such as `seedling`, where workers look as well.
pub(super) struct ModelsFolder(Option<PathBuf>);

impl ModelsFolder {
    /// The folder that `LYCEUM_MODELS` names, or `models` in or above the current folder, or above the running executable.
    pub(super) fn find() -> Self {
        Self::named_or_above(env::var_os("LYCEUM_MODELS").map(PathBuf::from))
    }

    fn named_or_above(named: Option<PathBuf>) -> Self {
        if named.as_deref().is_some_and(Path::is_dir) {
            return Self(named);
        }
        let above = |start: PathBuf| {
            let mut folders = start.ancestors().map(|folder| folder.join("models"));
            folders.find(|models| models.is_dir())
        };
        let here = env::current_dir().ok().and_then(above);
        Self(here.or_else(|| env::current_exe().ok().and_then(above)))
    }

    /// The dimensions of a model, read from its folder or known by its name.
    ///
    /// # Errors
    /// Why they are unknown.
    pub(super) fn sizes(&self, name: &str) -> Result<BaseShape, String> {
        let config = self.config(name);
        match config.as_deref().map(read) {
            Some(Ok(config)) => BaseShape::of_config(&config),
            Some(Err(error)) => Err(format!("config.json of `{name}` cannot be read: {error}")),
            None => BaseShape::of_name(name).ok_or_else(|| {
                format!("the dimensions of `{name}` are unknown: its folder is not on the server's machine")
            }),
        }
    }

    /// The longest sequence that a model reads, in tokens, if its folder is here.
    pub(super) fn context(&self, name: &str) -> Option<u64> {
        let config = read(&self.config(name)?).ok()?;
        config.get("max_position_embeddings")?.as_u64()
    }

    /// The folder of a model, if it is here.
    pub(super) fn folder(&self, name: &str) -> Option<PathBuf> {
        Some(self.config(name)?.parent()?.to_owned())
    }

    /// The folders in this one.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = self.0.iter().filter_map(|models| models.read_dir().ok());
        let names = entries.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| self.config(name).is_some()).collect();
        names.sort();
        names
    }

    fn config(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let stays_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let config = self.0.as_ref().filter(|_| stays_inside)?.join(path).join("config.json");
        config.is_file().then_some(config)
    }
}

fn read(path: &Path) -> std::io::Result<serde_json::Value> {
    let mut text = Vec::new();
    File::open(path)?.take(CONFIG).read_to_end(&mut text)?;
    // The contents of a file that is not a model's config are not revealed.
    serde_json::from_slice(&text).map_err(|_| std::io::Error::other("it is not JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_comes_first_if_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mine")).unwrap();
        std::fs::write(folder.path().join("mine/config.json"), r#"{"max_position_embeddings": 77}"#).unwrap();
        let named = ModelsFolder::named_or_above(Some(folder.path().to_owned()));
        assert_eq!((named.names(), named.context("mine")), (vec!["mine".to_owned()], Some(77)));
        assert_eq!(named.folder("seedling"), None);
        let absent = ModelsFolder::named_or_above(Some(folder.path().join("absent")));
        assert!(absent.folder("seedling").is_some());
    }

    #[test]
    fn only_the_models_folder_is_looked_at() {
        let models = ModelsFolder::find();
        assert!(models.folder("seedling").is_some());
        let inside = models.folder("seedling").unwrap().canonicalize().unwrap();
        let above = format!("../{}/seedling", inside.parent().unwrap().file_name().unwrap().display());
        for outside in [inside.to_str().unwrap(), &above, "./seedling"] {
            assert_eq!(models.folder(outside), None, "{outside}");
        }
    }
}
