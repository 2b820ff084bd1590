//! Base models that servers have: tokenizers, configurations, and an adapter that changes nothing, in whose name one can be asked.

use std::collections::HashMap;
use std::sync::Arc;

use lyceum_core::artifact::Digest;
use lyceum_core::work::{BaseModel, LoraShape, Projection};
use lyceum_models::peft::{AdapterConfig, AdapterFiles, key};
use lyceum_models::{ModelConfig, ModelsFolder, Texts, check_revision, weights};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
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
        Self { folder, read: Mutex::default() }
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
        Ok(Self { name: name.name.clone(), texts: Texts::load(&name.name, &folder, &config)?, config })
    }
}

/// An adapter of zeros, and its digest.
pub(super) struct Zeros {
    pub(super) digest: Digest,
    pub(super) files: AdapterFiles,
}

impl Zeros {
    /// Rank 1 on one projection of each layer.
    pub(super) fn new(name: &str, base: &ModelConfig) -> Result<Self, HandlerError> {
        let permanent = |error: String| HandlerError::Permanent(format!("an adapter of zeros for {name}: {error}"));
        let shape = LoraShape { r: 1, lora_alpha: 1.0, target_modules: vec![Projection::Q], use_rslora: false };
        let zeros = |size: i64| {
            let size = usize::try_from(size).map_err(|error| permanent(error.to_string()))?;
            Ok::<_, HandlerError>(vec![0; size * size_of::<f32>()])
        };
        let input = zeros(base.hidden_size)?;
        let output = zeros(base.num_attention_heads * base.head_dim)?;
        let tensor = |shape: [usize; 2], bytes| {
            TensorView::new(Dtype::F32, shape.to_vec(), bytes).map_err(|error| permanent(error.to_string()))
        };
        let a = tensor([1, input.len() / size_of::<f32>()], &input)?;
        let b = tensor([output.len() / size_of::<f32>(), 1], &output)?;
        let layers = (0..base.num_hidden_layers).flat_map(|layer| {
            [('A', &a), ('B', &b)].map(|(factor, tensor)| (key(layer, Projection::Q, factor), tensor))
        });
        let files = AdapterFiles {
            config: serde_json::to_vec_pretty(&AdapterConfig::new(&shape, name))
                .map_err(|error| permanent(error.to_string()))?,
            weights: safetensors::serialize(layers, None).map_err(|error| permanent(error.to_string()))?,
        };
        let archive = files.to_archive().map_err(|error| permanent(error.to_string()))?;
        Ok(Self { digest: Digest::of(&archive), files })
    }
}
