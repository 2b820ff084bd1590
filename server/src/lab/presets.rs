//! Presets: the built-in files `configs/runs/*.toml`, or those of a folder.

use include_dir::{Dir, include_dir};
use lyceum_core::config::from_toml;
use lyceum_core::fault::nearest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};
use utoipa::ToSchema;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/runs");

/// A run config to start from.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Preset {
    /// Its name: the file's, without `.toml`.
    pub(crate) name: String,
    /// Its description: the comment at the top of the file.
    pub(crate) description: String,
    /// The config, as written.
    #[schema(value_type = Object)]
    pub(crate) config: serde_json::Value,
}

/// The source of presets.
#[derive(Clone, Debug)]
pub(crate) struct Presets(Option<PathBuf>);

/// An unreadable preset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PresetError {
    #[error("the presets in {folder} cannot be read: {source}")]
    Folder { folder: PathBuf, source: io::Error },
    #[error("the preset `{name}` is not TOML: {source}")]
    Toml { name: String, source: Box<toml::de::Error> },
}

impl Presets {
    /// The presets of `folder`, or the built-in ones.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// All presets, sorted by name.
    pub(crate) fn all(&self) -> Result<Vec<Preset>, PresetError> {
        self.texts()?.into_iter().map(|(name, text)| read(name, &text)).collect()
    }

    /// The preset `name`, or a message if there is none.
    pub(crate) fn get(&self, name: &str) -> Result<Preset, String> {
        let texts = self.texts().map_err(|error| error.to_string())?;
        if let Some(text) = texts.get(name) {
            return read(name.to_owned(), text).map_err(|error| error.to_string());
        }
        let known = texts.keys().map(String::as_str);
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if texts.is_empty() => "this server has none".to_owned(),
            None => format!("valid are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Err(format!("there is no preset `{name}`; {hint}"))
    }

    fn texts(&self) -> Result<BTreeMap<String, String>, PresetError> {
        let Some(folder) = &self.0 else {
            let files = BUILT_IN.files().filter(|file| file.path().extension().is_some_and(|kind| kind == "toml"));
            let named = files.filter_map(|file| {
                Some((file.path().file_stem()?.to_str()?.to_owned(), file.contents_utf8()?.to_owned()))
            });
            return Ok(named.collect());
        };
        let read = || -> io::Result<BTreeMap<String, String>> {
            let mut texts = BTreeMap::new();
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.extension().is_some_and(|kind| kind == "toml")
                    && let Some(name) = path.file_stem().and_then(|name| name.to_str())
                {
                    texts.insert(name.to_owned(), fs::read_to_string(&path)?);
                }
            }
            Ok(texts)
        };
        read().map_err(|source| PresetError::Folder { folder: folder.clone(), source })
    }
}

fn read(name: String, text: &str) -> Result<Preset, PresetError> {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let description = comment.collect::<Vec<_>>().join(" ");
    match from_toml(text) {
        Ok(config) => Ok(Preset { name, description, config }),
        Err(source) => Err(PresetError::Toml { name, source: Box::new(source) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_presets_is_read_with_its_comments() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.toml"), "# Learns\n# little.\nrecipe = \"azr\"\nsteps = 3\n").unwrap();
        fs::write(folder.path().join("notes.txt"), "no preset").unwrap();
        let presets = Presets::new(Some(folder.path().to_owned()));
        let all = presets.all().unwrap();
        assert_eq!((all.len(), all[0].description.as_str()), (1, "Learns little."));
        assert_eq!(all[0].config, serde_json::json!({"recipe": "azr", "steps": 3}));
        assert!(presets.get("smal").unwrap_err().contains("did you mean `small`?"));
    }

    #[test]
    fn the_presets_that_the_server_was_built_with_are_all_readable() {
        Presets::new(None).all().unwrap();
    }
}
