//! A decoder layer: its weights, norm and MLP, and the pass that generation, scoring, learning and pretraining run.
//! A [`LayerPass`] supplies the steps in which they differ.

use lyceum_core::work::Projection;
use lyceum_kernels as kernels;
use tch::Tensor;

use crate::config::{Architecture, ModelConfig};
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::host;
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
            qkv_bias: if config.attention_bias { Some(joined(qkv.into_iter().map(bias).collect())?) } else { None },
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

/// The steps of a layer that depend on the caller. `T` is the number of tokens in the batch, and `R` the number of
/// tokens whose output is needed.
pub(crate) trait LayerPass {
    /// Data that a projection keeps for its gradient.
    type Projected;
    /// Data that attention keeps for its gradient.
    type Attended;

    /// Applies a projection, with the adapters of the members in the batch, to `x`: `[T, in]` for q, k and v, `[R, in]`
    /// for the others. Returns a new tensor, `[.., out]`.
    fn project(&self, projection: JointProjection, x: &Tensor) -> Result<(Tensor, Self::Projected)>;

    /// Attention, from the outputs of q, k and v `[T, query_size + 2 · key_value_size]` to `[T, query_size]`.
    fn attend(&self, qkv: Tensor) -> Result<(Tensor, Self::Attended)>;

    /// The rows of `x` `[T, ..]` whose output is needed, `[R, ..]`. In the last layer these may be few: the other
    /// tokens are needed as keys and values only.
    fn wanted(&self, x: &Tensor) -> Result<Tensor>;
}

/// The intermediate values of a layer, and the data that its projections and its attention keep.
pub(crate) struct Activations<Projected, Attended> {
    /// The normed input, `[T, hidden_size]`.
    pub(crate) attention_input: Tensor,
    pub(crate) qkv: Projected,
    pub(crate) attention: Attended,
    pub(crate) o: Projected,
    /// The residual stream between attention and MLP, `[R, hidden_size]`.
    pub(crate) between: Tensor,
    /// `between` after the norm.
    pub(crate) mlp_input: Tensor,
    /// `[R, 2 · intermediate_size]`
    pub(crate) gate_up_output: Tensor,
    pub(crate) gate_up: Projected,
    /// `[R, intermediate_size]`
    pub(crate) gated: Tensor,
    pub(crate) down: Projected,
}

/// A layer's output `[R, hidden_size]`, and its activations.
type Applied<P> = (Tensor, Activations<<P as LayerPass>::Projected, <P as LayerPass>::Attended>);

/// Applies a layer to the residual stream `input` `[T, hidden_size]`:
///
/// ```text
/// between = input   + o(attention(qkv(norm(input))))
/// output  = between + down(silu(gate(norm(between))) · up(norm(between)))
/// ```
///
/// The same arguments give the same result, so the layer can be recomputed instead of keeping its activations.
pub(crate) fn decoder_layer<P: LayerPass>(
    weights: &LayerWeights,
    eps: f64,
    input: &Tensor,
    pass: &P,
) -> Result<Applied<P>> {
    let attention_input = rms_norm(input, &weights.input_layernorm, eps)?;
    let (qkv_output, qkv) = pass.project(JointProjection::Qkv, &attention_input)?;
    let (attended, attention) = pass.attend(qkv_output)?;
    let (mut between, o) = pass.project(JointProjection::O, &pass.wanted(&attended)?)?;
    drop(attended);
    let between = between.f_add_(&pass.wanted(input)?)?;

    let mlp_input = rms_norm(&between, &weights.post_attention_layernorm, eps)?;
    let (gate_up_output, gate_up) = pass.project(JointProjection::GateUp, &mlp_input)?;
    let gated = gated(&gate_up_output)?;
    let (mut output, down) = pass.project(JointProjection::Down, &gated)?;
    let output = output.f_add_(&between)?;

    let activations =
        Activations { attention_input, qkv, attention, o, between, mlp_input, gate_up_output, gate_up, gated, down };
    Ok((output, activations))
}

/// `silu(gate) · up` of the two halves of `gate_up` `[T, 2 · intermediate_size]`.
pub(crate) fn gated(gate_up: &Tensor) -> Result<Tensor> {
    let (rows, width) = (gate_up.size()[0], gate_up.size()[1] / 2);
    if let Some(numbers) = host::numbers(gate_up) {
        let mut out = Tensor::f_empty([rows, width], (gate_up.kind(), gate_up.device()))?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernels::gated::gated(host::threads(), width as usize, numbers, out);
        }
        return Ok(out);
    }
    let gate = gate_up.f_narrow(1, 0, width)?;
    let up = gate_up.f_narrow(1, width, width)?;
    Ok(gate.f_silu()?.f_mul(&up)?)
}

/// `x / √(mean(x²) + eps) · weight` over the last dimension; the statistics are computed in fp32.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    if let (Some(numbers), Some(weight)) = (host::numbers(x), host::numbers(weight)) {
        let mut out = x.f_empty_like()?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernels::norm::rms_norm(host::threads(), numbers, weight, eps as f32, out);
        }
        return Ok(out);
    }
    Ok(x.f_rms_norm([weight.size()[weight.dim() - 1]], Some(weight), eps)?)
}
