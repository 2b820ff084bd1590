//! An adapter that changes nothing, in whose name a base model can be asked.

use lyceum_core::artifact::Digest;
use lyceum_core::work::{LoraShape, Projection};
use lyceum_models::ModelConfig;
use lyceum_models::peft::{AdapterConfig, AdapterFiles, key};
use safetensors::{Dtype, tensor::TensorView};

use crate::handler::HandlerError;

/// An adapter of zeros, and its digest.
pub(super) struct Zeros {
    pub(super) digest: Digest,
    pub(super) files: AdapterFiles,
}

impl Zeros {
    /// Rank 1 on one projection of each layer.
    pub(super) fn new(name: &str, base: &ModelConfig) -> Result<Self, HandlerError> {
        let permanent = |error: String| HandlerError::Permanent(format!("an adapter of zeros for {name}: {error}"));
        let shape = LoraShape {
            r: 1,
            lora_alpha: 1.0,
            target_modules: vec![Projection::Q],
            use_rslora: false,
        };
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
        Ok(Self {
            digest: Digest::of(&archive),
            files,
        })
    }
}
