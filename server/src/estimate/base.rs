//! The sizes of base models that this machine knows.

use lyceum_core::footprint::BaseShape;
use std::{
    env,
    fs::File,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

/// Bytes of a `config.json` that are read.
const CONFIG: u64 = 1 << 20;

/// Where models are that are named by a folder of it, such as `seedling`: where workers look too.
pub(super) struct ModelsFolder(Option<PathBuf>);

impl ModelsFolder {
    /// `models` in the current folder or above it or above the running executable.
    pub(super) fn find() -> Self {
        let above = |start: PathBuf| {
            let mut folders = start.ancestors().map(|folder| folder.join("models"));
            folders.find(|models| models.is_dir())
        };
        let here = env::current_dir().ok().and_then(above);
        Self(here.or_else(|| env::current_exe().ok().and_then(above)))
    }

    /// The sizes of the model of this name: a folder of models, or a model that is known by its name.
    ///
    /// # Errors
    /// Why they are not known.
    pub(super) fn sizes(&self, name: &str) -> Result<BaseShape, String> {
        let config = self.config(name);
        match config.as_deref().map(read) {
            Some(Ok(config)) => BaseShape::of_config(&config),
            Some(Err(error)) => Err(format!("config.json of `{name}` cannot be read: {error}")),
            None => BaseShape::of_name(name).ok_or_else(|| {
                format!("the sizes of `{name}` are not known: its folder is not on the server's machine, and workers do not tell them")
            }),
        }
    }

    fn config(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let stays_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let folder = match &self.0 {
            Some(models) if stays_inside => models.join(path),
            _ if path.is_absolute() => path.to_owned(),
            _ => return None,
        };
        let config = folder.join("config.json");
        config.is_file().then_some(config)
    }
}

fn read(path: &Path) -> std::io::Result<serde_json::Value> {
    let mut text = Vec::new();
    File::open(path)?.take(CONFIG).read_to_end(&mut text)?;
    // What is in a file that is no model's config is nobody's business.
    serde_json::from_slice(&text).map_err(|_| std::io::Error::other("it is not JSON"))
}
