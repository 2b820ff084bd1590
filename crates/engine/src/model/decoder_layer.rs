//! One decoder layer. Generation, scoring, learning and pretraining all run this function; a [`LayerPass`] supplies the
//! steps in which they differ.

use tch::Tensor;

use super::layer::LayerWeights;
use super::mlp::gated;
use super::norm::rms_norm;
use crate::error::Result;
use crate::population::JointProjection;

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
type Applied<P> = (
    Tensor,
    Activations<<P as LayerPass>::Projected, <P as LayerPass>::Attended>,
);

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

    let activations = Activations {
        attention_input,
        qkv,
        attention,
        o,
        between,
        mlp_input,
        gate_up_output,
        gate_up,
        gated,
        down,
    };
    Ok((output, activations))
}
