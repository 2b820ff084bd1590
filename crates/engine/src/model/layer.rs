//! One decoder layer: its weights, and the pure function that applies it.

use tch::Tensor;

use super::attention::Attend;
use super::mlp::gated;
use super::norm::rms_norm;
use super::rope::RopeTables;
use crate::config::{Architecture, ModelConfig};
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::population::{LayerAdapters, LowRank, Projection, RowGroups};
use crate::product::linear;
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
            let (inputs, outputs) = projection.sizes(config);
            let name = format!("{prefix}.{}.{projection}.weight", projection.block());
            checkpoint.tensor(&name, &[outputs, inputs], placement)
        };
        let bias = |projection: Projection| {
            let name = format!("{prefix}.{}.{projection}.bias", projection.block());
            checkpoint.tensor(&name, &[projection.sizes(config).1], placement)
        };
        let qkv = [Projection::Q, Projection::K, Projection::V];
        let biased: &[Projection] = if config.attention_bias { &qkv } else { &[] };
        refuse_other_biases(checkpoint, &prefix, biased)?;
        let joined = |parts: Result<Vec<Tensor>>| -> Result<Tensor> { Ok(Tensor::f_cat(&parts?, 0)?) };
        let qk_norm = match config.architecture {
            Architecture::Qwen2 => None,
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

/// A bias that the layer has no place for would be missing from everything that the model computes.
fn refuse_other_biases(checkpoint: &Checkpoint, prefix: &str, biased: &[Projection]) -> Result<()> {
    for projection in Projection::ALL {
        let name = format!("{prefix}.{}.{projection}.bias", projection.block());
        if checkpoint.contains(&name) && !biased.contains(&projection) {
            let problem = "is not supported: a Qwen2 model has biases on q, k and v, a Qwen3 model has none";
            return Err(EngineError::tensor(checkpoint.read(&name)?.path, name, problem));
        }
    }
    Ok(())
}

/// One layer's adapters and the rows that each of them serves.
#[derive(Debug, Clone, Copy)]
pub struct Adapted<'a> {
    /// The layer's factors, arranged for these groups.
    pub adapters: &'a LayerAdapters,
    /// The rows of each member.
    pub groups: &'a RowGroups,
}

/// Cuts the joint projection `[sequences, length, query_size + 2 · key_value_size]` into normed and rotated queries
/// `[sequences, length, heads, head_dim]`, keys and values `[sequences, length, kv_heads, head_dim]`.
pub(crate) fn rotated_heads(
    config: &ModelConfig,
    weights: &LayerWeights,
    qkv: &Tensor,
    rope: &RopeTables,
) -> Result<(Tensor, Tensor, Tensor)> {
    let (sequences, length, _) = qkv.size3()?;
    let (heads, kv_heads) = (config.num_attention_heads, config.num_key_value_heads);
    let qkv = qkv.f_view([sequences, length, heads + 2 * kv_heads, config.head_dim])?;
    // Splits rather than slices: their gradient is one concatenation.
    let mut parts = qkv.f_split_with_sizes([heads + kv_heads, kv_heads], 2)?;
    let value = parts.swap_remove(1);
    let query_key = parts.swap_remove(0);
    let query_key = match &weights.qk_norm {
        Some(weight) => {
            let scaled = query_key.f_rms_norm([config.head_dim], None::<&Tensor>, config.rms_norm_eps)?;
            rope.rotate(&scaled.f_mul(weight)?)?
        }
        None => rope.rotate(&query_key)?,
    };
    let mut parts = query_key.f_split_with_sizes([heads, kv_heads], 2)?;
    let key = parts.swap_remove(1);
    Ok((parts.swap_remove(0), key, value))
}

/// The rows of a batch that a layer's output is wanted of, where it is not all of them: the rest is needed as keys and
/// values only.
#[derive(Debug, Clone, Copy)]
pub struct OutputRows<'a> {
    /// Indices among the `sequences · length` rows, `[R]`.
    pub rows: &'a Tensor,
    /// Which of them belong to which member; `None` if no row has an adapter.
    pub groups: Option<&'a RowGroups>,
}

/// Applies a layer to hidden states `[sequences, length, hidden_size]`. A pure function of its arguments (but for what
/// `attention` keeps), so a caller may run it again to recompute activations. With `output` it answers
/// `[R, hidden_size]`, else the shape of `hidden`.
#[expect(clippy::too_many_arguments, reason = "a layer is a pure function of all of these")]
pub fn decoder_layer(
    config: &ModelConfig,
    weights: &LayerWeights,
    adapted: Option<Adapted<'_>>,
    index: usize,
    hidden: &Tensor,
    rope: &RopeTables,
    attention: &dyn Attend,
    output: Option<OutputRows<'_>>,
) -> Result<Tensor> {
    let (sequences, length, width) = hidden.size3()?;
    let rows = hidden.f_reshape([sequences * length, width])?;
    let normed = rms_norm(&rows, &weights.input_layernorm, config.rms_norm_eps)?;
    let qkv = project(
        &normed,
        &weights.qkv_proj,
        weights.qkv_bias.as_ref(),
        adapted,
        |layer| &layer.qkv,
    )?;
    let (query, key, value) = rotated_heads(config, weights, &qkv.f_view([sequences, length, -1])?, rope)?;
    let attended = attention.attend(index, &query, &key, &value)?;
    let attended = attended.f_view([sequences * length, config.query_size()])?;
    let Some(OutputRows { rows: wanted, groups }) = output else {
        let hidden = attention_and_mlp_outputs(config, weights, adapted, &rows, &attended)?;
        return Ok(hidden.f_view([sequences, length, width])?);
    };
    let adapted = adapted.and_then(|Adapted { adapters, .. }| groups.map(|groups| Adapted { adapters, groups }));
    let wanted = |x: &Tensor| x.f_index_select(0, wanted);
    attention_and_mlp_outputs(config, weights, adapted, &wanted(&rows)?, &wanted(&attended)?)
}

/// From the attended values `[R, query_size]` and the layer's input `[R, hidden_size]` to its output.
fn attention_and_mlp_outputs(
    config: &ModelConfig,
    weights: &LayerWeights,
    adapted: Option<Adapted<'_>>,
    input: &Tensor,
    attended: &Tensor,
) -> Result<Tensor> {
    let hidden = input.f_add(&project(attended, &weights.o_proj, None, adapted, |layer| &layer.o)?)?;
    let normed = rms_norm(&hidden, &weights.post_attention_layernorm, config.rms_norm_eps)?;
    let gate_up = project(&normed, &weights.gate_up_proj, None, adapted, |layer| &layer.gate_up)?;
    let output = project(&gated(&gate_up)?, &weights.down_proj, None, adapted, |layer| {
        &layer.down
    })?;
    Ok(hidden.f_add(&output)?)
}

fn project(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    adapted: Option<Adapted<'_>>,
    pick: fn(&LayerAdapters) -> &Option<LowRank>,
) -> Result<Tensor> {
    let base = linear(x, weight, bias)?;
    match adapted.and_then(|Adapted { adapters, groups }| Some((pick(adapters).as_ref()?, groups))) {
        Some((low_rank, groups)) => low_rank.add_to(base, x, groups),
        None => Ok(base),
    }
}
