//! The frozen base: weights of a Qwen2 or Qwen3 model and the forward pass shared by all members.

mod attention;
mod inference;
mod layer;

pub use attention::RopeTables;
pub(crate) use attention::rotated_heads;
pub use attention::{Attend, CausalAttention};
pub use inference::OutputRows;
pub use layer::LayerWeights;
pub(crate) use layer::{Activations, LayerPass, decoder_layer};

use std::path::Path;

use tch::Tensor;

use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::population::{LayerAdapters, Population, RowGroups};
use crate::product::{arranged, linear_in_fp32};
use crate::unwinding::as_errors;
use crate::weights::Checkpoint;
use inference::Inference;

/// A base model on its device. It is immutable, so generation and learning can share it by reference.
#[derive(Debug)]
pub struct Model {
    /// The configuration.
    pub config: ModelConfig,
    /// Device and precision.
    pub placement: Placement,
    /// `[vocab_size, hidden_size]`
    pub embed_tokens: Tensor,
    /// The decoder layers.
    pub layers: Vec<LayerWeights>,
    /// Weight of the final norm, `[hidden_size]`.
    pub norm: Tensor,
    /// `[vocab_size, hidden_size]`; the embedding itself if the two are tied.
    pub lm_head: Tensor,
}

/// Refuses a head that differs from the embedding, though the configuration ties the two: the model was trained with one of
/// them, and nothing says with which.
fn refuse_other_head(checkpoint: &Checkpoint) -> Result<()> {
    const HEAD: &str = "lm_head.weight";
    if !checkpoint.contains(HEAD) {
        return Ok(());
    }
    let (head, embedding) = (checkpoint.read(HEAD)?, checkpoint.read("model.embed_tokens.weight")?);
    if head.values.size() == embedding.values.size() && head.values.f_equal(&embedding.values)? {
        return Ok(());
    }
    let problem = "differs from `model.embed_tokens.weight`, though `tie_word_embeddings` of config.json is true: set it to \
                   false if the head was trained, or remove the tensor";
    Err(EngineError::tensor(head.path, HEAD, problem))
}

impl Model {
    /// Loads a Hugging Face model folder.
    pub fn load(folder: &Path, placement: Placement) -> Result<Self> {
        let config = ModelConfig::from_folder(folder)?;
        let bytes = config.base_shape().parameters() * placement.dtype.bytes();
        as_errors(|| Self::load_weights(folder, config, placement)).map_err(|error| {
            error.if_out_of_memory(placement.device, || {
                format!(
                    "{}: the weights take {:.1} GiB in {}; a device with as much free memory, a smaller model or fewer bytes a \
                     number would do",
                    folder.display(),
                    bytes as f64 / f64::from(1 << 30),
                    placement.dtype
                )
            })
        })
    }

    fn load_weights(folder: &Path, config: ModelConfig, placement: Placement) -> Result<Self> {
        let checkpoint = Checkpoint::from_model_folder(folder)?;
        let embedding = [config.vocab_size, config.hidden_size];
        let embed_tokens = checkpoint.tensor("model.embed_tokens.weight", &embedding, placement)?;
        let layers = (0..config.num_hidden_layers)
            .map(|index| LayerWeights::load(&checkpoint, &config, index, placement))
            .collect::<Result<Vec<_>>>()?;
        let norm = checkpoint.tensor("model.norm.weight", &[config.hidden_size], placement)?;
        let lm_head = if config.tie_word_embeddings {
            refuse_other_head(&checkpoint)?;
            embed_tokens.shallow_clone()
        } else {
            checkpoint.tensor("lm_head.weight", &embedding, placement)?
        };
        Self { config, placement, embed_tokens, layers, norm, lm_head }.arranged()
    }

    /// The same model with its projection weights laid out for the fastest products with few rows.
    pub fn arranged(mut self) -> Result<Self> {
        for layer in &mut self.layers {
            for weight in [&mut layer.qkv_proj, &mut layer.o_proj, &mut layer.gate_up_proj, &mut layer.down_proj] {
                *weight = arranged(weight)?;
            }
        }
        self.lm_head = arranged(&self.lm_head)?;
        if self.config.tie_word_embeddings {
            // This slows look-ups less than it speeds up products.
            self.embed_tokens = self.lm_head.shallow_clone();
        }
        Ok(self)
    }

    /// Another handle on the same weights, for another thread.
    pub fn share(&self) -> Self {
        Self {
            config: self.config.clone(),
            placement: self.placement,
            embed_tokens: self.embed_tokens.shallow_clone(),
            layers: self.layers.iter().map(LayerWeights::share).collect(),
            norm: self.norm.shallow_clone(),
            lm_head: self.lm_head.shallow_clone(),
        }
    }

    /// Embeds ids `[..]` to `[.., hidden_size]`.
    pub fn embed(&self, ids: &Tensor) -> Result<Tensor> {
        Ok(Tensor::f_embedding(&self.embed_tokens, ids, -1, false, false)?)
    }

    /// Cosine and sine tables for positions `0..length`.
    pub fn rope_tables(&self, length: i64) -> Result<RopeTables> {
        RopeTables::new(&self.config, length, self.placement)
    }

    /// Arranges every layer's adapters for batches in which all members have rows.
    pub fn arrange_adapters(&self, population: &Population) -> Result<Vec<LayerAdapters>> {
        let kind = self.placement.kind();
        population
            .layers
            .iter()
            .map(|factors| LayerAdapters::arrange(factors, &population.shape, &self.config, kind))
            .collect()
    }

    /// Arranges every layer's adapters for batches grouped by `groups`.
    pub fn prepare_adapters(&self, population: &Population, groups: &RowGroups) -> Result<Vec<LayerAdapters>> {
        let arranged = self.arrange_adapters(population)?;
        arranged.iter().map(|layer| layer.select(groups)).collect()
    }

    /// Hidden states before the final norm, `[sequences, length, hidden_size]`, of ids `[sequences, length]` at the
    /// positions of `rope`.
    pub fn forward(
        &self,
        ids: &Tensor,
        rope: &RopeTables,
        adapters: Option<(&[LayerAdapters], &RowGroups)>,
        attention: &dyn Attend,
    ) -> Result<Tensor> {
        self.forward_to(ids, rope, adapters, attention, None)
    }

    /// Like `forward`, for some of the rows only, `[R, hidden_size]`: the last layer is not computed for the others.
    pub fn forward_rows(
        &self,
        ids: &Tensor,
        rope: &RopeTables,
        adapters: Option<(&[LayerAdapters], &RowGroups)>,
        attention: &dyn Attend,
        output: OutputRows<'_>,
    ) -> Result<Tensor> {
        self.forward_to(ids, rope, adapters, attention, Some(output))
    }

    fn forward_to(
        &self,
        ids: &Tensor,
        rope: &RopeTables,
        adapters: Option<(&[LayerAdapters], &RowGroups)>,
        attention: &dyn Attend,
        output: Option<OutputRows<'_>>,
    ) -> Result<Tensor> {
        let (sequences, length) = ids.size2()?;
        let width = self.config.hidden_size;
        let mut hidden = self.embed(ids)?.f_view([sequences * length, width])?;
        for (index, weights) in self.layers.iter().enumerate() {
            let pass = Inference {
                config: &self.config,
                weights,
                index,
                sequences,
                length,
                rope,
                attention,
                adapters: adapters.map(|(layers, groups)| (&layers[index], groups)),
                output: output.filter(|_| index + 1 == self.layers.len()),
            };
            hidden = decoder_layer(weights, self.config.rms_norm_eps, &hidden, &pass)?.0;
        }
        Ok(match output {
            Some(_) => hidden,
            None => hidden.f_view([sequences, length, width])?,
        })
    }

    /// Hidden states after the final norm of right-padded sequences that start at position 0. Padding has no influence
    /// on the positions before it.
    pub fn hidden_states(&self, ids: &Tensor, adapters: Option<(&[LayerAdapters], &RowGroups)>) -> Result<Tensor> {
        let rope = self.rope_tables(ids.size()[1])?;
        self.final_norm(&self.forward(ids, &rope, adapters, &CausalAttention)?)
    }

    /// The norm before the output projection.
    pub fn final_norm(&self, hidden: &Tensor) -> Result<Tensor> {
        layer::rms_norm(hidden, &self.norm, self.config.rms_norm_eps)
    }

    /// Logits in fp32, `[.., vocab_size]`, of normed hidden states `[.., hidden_size]`.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        let size = hidden.size();
        let rows = hidden.f_reshape([-1, self.config.hidden_size])?;
        let logits = linear_in_fp32(&rows, &self.lm_head)?;
        Ok(logits.f_view([&size[..size.len() - 1], &[self.config.vocab_size]].concat().as_slice())?)
    }
}
