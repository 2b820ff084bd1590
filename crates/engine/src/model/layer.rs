//! The weights of a decoder layer.

use lyceum_core::work::Projection;
use tch::Tensor;

use crate::config::{Architecture, ModelConfig};
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::population::JointProjection;
use crate::weights::Checkpoint;

/// The frozen weights of one layer. Projections that read the same input are stored as one matrix.
#[derive(Debug)]
pub struct LayerWeights {
    /// `[hidden_size]`
    pub input_layernorm: Tensor,
    /// q, k and v: `[query_size + 2 · key_value_size, hidden_size]`
    pub qkv_proj: Tensor,
    /// `[query_size + 2 · key_value_size]`
    pub qkv_bias: Option<Tensor>,
    /// q and k norms, a row per query and key head: `[heads + kv_heads, head_dim]` (Qwen3)
    pub qk_norm: Option<Tensor>,
    /// `[hidden_size, query_size]`
    pub o_proj: Tensor,
    /// `[hidden_size]`
    pub post_attention_layernorm: Tensor,
    /// gate and up: `[2 · intermediate_size, hidden_size]`
    pub gate_up_proj: Tensor,
    /// `[hidden_size, intermediate_size]`
    pub down_proj: Tensor,
}

impl LayerWeights {
    /// A projection's weight `[out, in]`, and its bias `[out]` if it has one.
    pub(crate) fn projection(&self, projection: JointProjection) -> (&Tensor, Option<&Tensor>) {
        match projection {
            JointProjection::Qkv => (&self.qkv_proj, self.qkv_bias.as_ref()),
            JointProjection::O => (&self.o_proj, None),
            JointProjection::GateUp => (&self.gate_up_proj, None),
            JointProjection::Down => (&self.down_proj, None),
        }
    }

    /// Another handle on the same weights, for another thread.
    pub fn share(&self) -> Self {
        let shared = |weight: &Option<Tensor>| weight.as_ref().map(Tensor::shallow_clone);
        Self {
            input_layernorm: self.input_layernorm.shallow_clone(),
            qkv_proj: self.qkv_proj.shallow_clone(),
            qkv_bias: shared(&self.qkv_bias),
            qk_norm: shared(&self.qk_norm),
            o_proj: self.o_proj.shallow_clone(),
            post_attention_layernorm: self.post_attention_layernorm.shallow_clone(),
            gate_up_proj: self.gate_up_proj.shallow_clone(),
            down_proj: self.down_proj.shallow_clone(),
        }
    }

    pub(super) fn load(
        checkpoint: &Checkpoint,
        config: &ModelConfig,
        index: usize,
        placement: Placement,
    ) -> Result<Self> {
        let prefix = format!("model.layers.{index}");
        let norm = |name: &str, width| checkpoint.tensor(&format!("{prefix}.{name}.weight"), &[width], placement);
        let weight = |projection: Projection| {
            let (inputs, outputs) = config.projection_sizes(projection);
            let name = format!("{prefix}.{}.{projection}.weight", projection.block());
            checkpoint.tensor(&name, &[outputs, inputs], placement)
        };
        let bias = |projection: Projection| {
            let name = format!("{prefix}.{}.{projection}.bias", projection.block());
            checkpoint.tensor(&name, &[config.projection_sizes(projection).1], placement)
        };
        let qkv = [Projection::Q, Projection::K, Projection::V];
        let biased: &[Projection] = if config.attention_bias { &qkv } else { &[] };
        refuse_other_biases(checkpoint, &prefix, biased)?;
        let joined = |parts: Result<Vec<Tensor>>| -> Result<Tensor> { Ok(Tensor::f_cat(&parts?, 0)?) };
        let qk_norm = match config.architecture {
            Architecture::Qwen2 | Architecture::Llama => None,
            Architecture::Qwen3 => {
                let of_heads = |name, heads| -> Result<Tensor> {
                    Ok(norm(name, config.head_dim)?.f_expand([heads, config.head_dim], false)?)
                };
                Some(Tensor::f_cat(
                    &[
                        of_heads("self_attn.q_norm", config.num_attention_heads)?,
                        of_heads("self_attn.k_norm", config.num_key_value_heads)?,
                    ],
                    0,
                )?)
            }
        };
        Ok(Self {
            input_layernorm: norm("input_layernorm", config.hidden_size)?,
            qkv_proj: joined(qkv.into_iter().map(weight).collect())?,
            qkv_bias: if config.attention_bias {
                Some(joined(qkv.into_iter().map(bias).collect())?)
            } else {
                None
            },
            qk_norm,
            o_proj: weight(Projection::O)?,
            post_attention_layernorm: norm("post_attention_layernorm", config.hidden_size)?,
            gate_up_proj: joined([Projection::Gate, Projection::Up].into_iter().map(weight).collect())?,
            down_proj: weight(Projection::Down)?,
        })
    }
}

/// Without this check, an unsupported bias would silently be ignored.
fn refuse_other_biases(checkpoint: &Checkpoint, prefix: &str, biased: &[Projection]) -> Result<()> {
    for projection in Projection::ALL {
        let name = format!("{prefix}.{}.{projection}.bias", projection.block());
        if checkpoint.contains(&name) && !biased.contains(&projection) {
            let problem =
                "is not supported: a Qwen2 model has biases on q, k and v, a model of Qwen3, Llama or Mistral has none";
            return Err(EngineError::tensor(checkpoint.read(&name)?.path, name, problem));
        }
    }
    Ok(())
}
