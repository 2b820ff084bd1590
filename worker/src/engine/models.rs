//! Base models by their names in configs, and the loaded one.

use std::path::{Path, PathBuf};

use lyceum_core::artifact::Digest;
use lyceum_core::work::{BaseModel, Compute, Dtype, Message};
use lyceum_engine::chat_template::{ChatTemplate, Conversation};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{EngineError, Model, Placement, Population};
use sha2::{Digest as _, Sha256};

use super::{Version, fault};
use crate::handler::HandlerError;

/// The folder of models that are named by a subfolder, such as `seedling`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelsFolder(PathBuf);

impl ModelsFolder {
    /// `named`, else `models` in the current folder or above it or above the running executable.
    pub fn resolve(named: Option<&Path>) -> Self {
        let above = |start: PathBuf| {
            start
                .ancestors()
                .map(|folder| folder.join("models"))
                .find(|models| models.is_dir())
        };
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
    /// The name is neither that of a folder nor on the hub; [`EngineError::Unreachable`] if the hub does not respond.
    pub fn locate(&self, base: &BaseModel) -> Result<PathBuf, EngineError> {
        let name = &base.name;
        let refused = |why: String| EngineError::Population(format!("base model `{name}`: {why}"));
        if let Some(fault) = base.name_fault() {
            return Err(refused(fault));
        }
        let inside = self.0.join(name);
        if inside.join("config.json").is_file() {
            return Ok(inside);
        }
        if inside.is_dir() {
            return Err(refused(
                "its folder has no config.json, so it is not a model folder".to_owned(),
            ));
        }
        if !name.contains('/') {
            let shown = "the worker's models folder (`--models`) has no such folder";
            return Err(refused(format!(
                "{shown}; a model of the hub is named like `Qwen/Qwen2.5-0.5B`"
            )));
        }
        if !lyceum_engine::hub::is_cached(name) {
            tracing::info!(base_model = %name, "fetching base model {name} from the hub");
        }
        lyceum_engine::hub::hub_model(name).map_err(|error| match error {
            EngineError::Unreachable { .. } => error,
            _ => refused(format!(
                "the worker's models folder (`--models`) has no such folder; {error}"
            )),
        })
    }
}

/// A loaded base model, and the adapters last used with it.
pub struct Loaded {
    name: BaseModel,
    dtype: Dtype,
    /// The weights.
    pub model: Model,
    /// The tokenizer, if the folder has one.
    pub tokenizer: Option<Tokenizer>,
    chat_template: Option<ChatTemplate>,
    chat_template_sha256: Option<String>,
    population: Option<(Vec<Digest>, Population)>,
}

/// The state of the engine's thread.
pub struct Models {
    folder: ModelsFolder,
    device: String,
    loaded: Option<Loaded>,
}

impl Models {
    pub(super) fn new(folder: ModelsFolder, device: String) -> Self {
        Self {
            folder,
            device,
            loaded: None,
        }
    }

    /// The base model `name`, with the settings of `compute`. Unloads the previous one if it is different.
    ///
    /// # Errors
    /// The model is missing, damaged, or of another revision.
    pub fn load(&mut self, name: &BaseModel, compute: Compute) -> Result<&mut Loaded, HandlerError> {
        lyceum_engine::set_threads(compute.threads);
        let fits = |loaded: &Loaded| loaded.name == *name && loaded.dtype == compute.dtype;
        if !self.loaded.as_ref().is_some_and(fits) {
            // Unload first: two models may not fit.
            self.loaded = None;
            let folder = self.folder.locate(name).map_err(fault)?;
            check_revision(name, &folder)?;
            let placement = Placement::new(&self.device, compute.dtype).map_err(fault)?;
            let model = Model::load(&folder, placement).map_err(fault)?;
            let has_tokenizer = folder.join("tokenizer.json").exists();
            let tokenizer = has_tokenizer.then(|| Tokenizer::load(&folder, &model.config));
            tracing::info!(base_model = %name.name, folder = %folder.display(), "loaded base model {}", name.name);
            self.loaded = Some(Loaded {
                name: name.clone(),
                dtype: compute.dtype,
                tokenizer: tokenizer.transpose().map_err(fault)?,
                chat_template: ChatTemplate::load(&folder).map_err(fault)?,
                chat_template_sha256: chat_template_sha256(&folder),
                model,
                population: None,
            });
        }
        match &mut self.loaded {
            Some(loaded) => Ok(loaded),
            None => unreachable!("it was loaded above"),
        }
    }

    /// Names of the loaded models.
    pub(super) fn names(&self) -> Vec<String> {
        self.loaded.iter().map(|loaded| loaded.name.name.clone()).collect()
    }

    /// Unloads everything, since a panic may have left it in any state.
    pub(super) fn clear(&mut self) {
        self.loaded = None;
    }
}

/// A revision of a folder is the SHA-256 of its weight files in name order.
fn check_revision(name: &BaseModel, folder: &Path) -> Result<(), HandlerError> {
    let Some(revision) = name.revision.as_ref().filter(|revision| revision.len() == 64) else {
        return Ok(());
    };
    let unreadable = |error: std::io::Error| HandlerError::Transient(format!("{}: {error}", folder.display()));
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
    Err(HandlerError::Permanent(format!(
        "base model `{}` has revision {found}; {revision} was requested",
        name.name
    )))
}

/// SHA-256 of a model's chat template, in hex: of `chat_template.jinja`, or of the text in `tokenizer_config.json`.
fn chat_template_sha256(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("chat_template.jinja"))
        .ok()
        .or_else(|| {
            let config = std::fs::read_to_string(folder.join("tokenizer_config.json")).ok()?;
            let config: serde_json::Value = serde_json::from_str(&config).ok()?;
            Some(config.get("chat_template")?.as_str()?.to_owned())
        })?;
    Some(Digest(Sha256::digest(text).into()).to_string())
}

impl Loaded {
    /// SHA-256 of the chat template, in hex, if the model has one.
    pub fn chat_template_sha256(&self) -> Option<&str> {
        self.chat_template_sha256.as_deref()
    }

    /// The adapters, stacked in this order, without their optimizer states; `None` without adapters. Reuses those of
    /// the previous call.
    ///
    /// # Errors
    /// Adapters that do not fit the base or one another.
    pub fn with_adapters(&mut self, adapters: &[Version]) -> Result<(), HandlerError> {
        let digests: Vec<Digest> = adapters.iter().map(|version| version.adapter.artifact).collect();
        if self.population.as_ref().map_or(&[][..], |(held, _)| held) == digests {
            return Ok(());
        }
        self.population = None;
        if !adapters.is_empty() {
            self.population = Some((digests, self.stack(adapters)?));
        }
        Ok(())
    }

    /// The adapters of the last [`Loaded::with_adapters`].
    pub fn population(&self) -> Option<&Population> {
        self.population.as_ref().map(|(_, population)| population)
    }

    /// The adapters, stacked in this order.
    ///
    /// # Errors
    /// Adapters that do not fit the base or one another.
    pub fn stack(&self, adapters: &[Version]) -> Result<Population, HandlerError> {
        let folders = adapters.iter().map(Version::lay_out).collect::<Result<Vec<_>, _>>()?;
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_owned()).collect();
        lyceum_engine::peft::read_population(&paths, &self.model.config, self.model.placement.device).map_err(fault)
    }

    /// The token ids of a text.
    ///
    /// # Errors
    /// The model has no tokenizer.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, HandlerError> {
        let tokenizer = self.tokenizer.as_ref().ok_or_else(|| {
            HandlerError::Permanent(format!(
                "base model `{}` has no tokenizer.json, which a text prompt needs",
                self.name.name
            ))
        })?;
        tokenizer.encode(text).map_err(fault)
    }

    /// Formats a conversation with the model's chat template.
    ///
    /// # Errors
    /// The model has no template, or the template rejects the conversation.
    pub fn render(&self, messages: &[Message]) -> Result<String, HandlerError> {
        let template = self.chat_template.as_ref().ok_or_else(|| {
            HandlerError::Permanent(format!(
                "base model `{}` has no chat template, which a conversation needs",
                self.name.name
            ))
        })?;
        let messages = messages.iter().map(serde_json::to_value).collect::<Result<_, _>>();
        let conversation = Conversation {
            messages: messages.map_err(HandlerError::permanent)?,
            add_generation_prompt: true,
            ..Conversation::default()
        };
        template.render(&conversation).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(models: &Path, name: &str) -> Result<PathBuf, String> {
        let base = BaseModel {
            name: name.to_owned(),
            revision: None,
        };
        let models = ModelsFolder::resolve(Some(models));
        models.locate(&base).map_err(|error| error.to_string())
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
