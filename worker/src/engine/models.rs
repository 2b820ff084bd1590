//! The loaded base model.

use std::path::PathBuf;

use lyceum_core::artifact::Digest;
use lyceum_core::work::{BaseModel, Compute, Dtype};
use lyceum_engine::{Model, Placement, Population};
use lyceum_models::{ModelsFolder, Texts, check_revision};

use super::fault;
use crate::adapter::Version;
use crate::handler::HandlerError;

/// A loaded base model, and the adapters last used with it.
pub struct Loaded {
    name: BaseModel,
    dtype: Dtype,
    /// The weights.
    pub model: Model,
    /// Tokenizer and chat template.
    pub texts: Texts,
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
            check_revision(name, &folder).map_err(fault)?;
            let placement = Placement::new(&self.device, compute.dtype).map_err(fault)?;
            let model = Model::load(&folder, placement).map_err(fault)?;
            tracing::info!(base_model = %name.name, folder = %folder.display(), "loaded base model {}", name.name);
            self.loaded = Some(Loaded {
                name: name.clone(),
                dtype: compute.dtype,
                texts: Texts::load(&name.name, &folder, &model.config).map_err(fault)?,
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

impl Loaded {
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
        let paths: Vec<PathBuf> = adapters.iter().map(|version| version.folder().to_owned()).collect();
        lyceum_engine::peft::read_population(&paths, &self.model.config, self.model.placement.device).map_err(fault)
    }
}
