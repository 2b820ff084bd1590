//! Tokenizers and configurations of base models that servers have.

use std::collections::HashMap;
use std::sync::Arc;

use lyceum_core::work::BaseModel;
use lyceum_models::{ModelConfig, ModelsFolder, Texts, check_revision, weights};
use tokio::sync::Mutex;

use crate::handler::HandlerError;

/// What this side needs of a base model.
pub(super) struct Base {
    pub(super) name: String,
    pub(super) texts: Texts,
    pub(super) config: ModelConfig,
}

/// Base models, each read once.
pub(super) struct Bases {
    folder: ModelsFolder,
    read: Mutex<HashMap<BaseModel, Arc<Base>>>,
}

impl Bases {
    pub(super) fn new(folder: ModelsFolder) -> Self {
        Self {
            folder,
            read: Mutex::default(),
        }
    }

    /// A base model by its name in configs.
    pub(super) async fn get(&self, name: &BaseModel) -> Result<Arc<Base>, HandlerError> {
        let mut read = self.read.lock().await;
        if let Some(base) = read.get(name) {
            return Ok(Arc::clone(base));
        }
        let (folder, wanted) = (self.folder.clone(), name.clone());
        let base = tokio::task::spawn_blocking(move || Base::read(&folder, &wanted)).await;
        let base = Arc::new(base.map_err(|lost| HandlerError::Transient(lost.to_string()))??);
        read.insert(name.clone(), Arc::clone(&base));
        Ok(base)
    }
}

impl Base {
    fn read(models: &ModelsFolder, name: &BaseModel) -> Result<Self, HandlerError> {
        let folder = models.locate(name)?;
        // A folder without weights will do here.
        if weights::files(&folder).is_ok() {
            check_revision(name, &folder)?;
        }
        let config = ModelConfig::from_folder(&folder)?;
        Ok(Self {
            name: name.name.clone(),
            texts: Texts::load(&name.name, &folder, &config)?,
            config,
        })
    }
}
