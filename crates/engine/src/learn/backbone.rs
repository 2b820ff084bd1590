//! The decoder layers, forward and backward, with activations kept or recomputed.

use lyceum_kernels as kernels;
use tch::{Kind, Tensor};

use super::attention::{Attention, AttentionTape};
use super::layout::{Layout, OutputRows, Packing};
use super::linear::AdaptedLinear;
use super::rows::MemberRows;
use crate::error::Result;
use crate::host;
use crate::model::{Activations, LayerPass, LayerWeights, Model, RopeTables, decoder_layer};
use crate::population::{JointProjection, LayerFactors, Population};

/// The layers with their members' adapters, for one micro-batch.
pub(super) struct Backbone<'a> {
    model: &'a Model,
    rows: &'a MemberRows,
    packing: &'a Packing,
    output: &'a OutputRows,
    rope: RopeTables,
    layers: &'a [AdaptedLayer<'a>],
}

/// Data kept of each layer for the backward pass.
pub(super) enum Kept<'a> {
    /// Its input, `[T, hidden_size]`; the rest is recomputed.
    Input(Tensor),
    /// All activations.
    Tape(Box<Tape<'a>>),
}

/// The products with the adapters' A, if they were computed.
type Inner = Option<Tensor>;

/// A layer's input and the activations of its forward pass.
pub(super) struct Tape<'a> {
    input: Tensor,
    activations: Activations<Inner, AttentionTape<'a>>,
}

impl<'a> Backbone<'a> {
    /// `layers` must belong to the members that `layout` has rows of.
    pub(super) fn new(model: &'a Model, layers: &'a AdaptedLayers<'_>, layout: &'a Layout) -> Result<Self> {
        Ok(Self {
            model,
            rows: &layout.members,
            packing: &layout.packing,
            output: &layout.output,
            rope: model.rope_tables(layout.packing.length())?,
            layers: &layers.layers,
        })
    }

    /// Hidden states before the final norm of the output rows, `[U, hidden_size]`.
    pub(super) fn forward(&self, ids: &Tensor) -> Result<Tensor> {
        let mut hidden = self.model.embed(ids)?;
        for layer in self.layers {
            hidden = self.apply(layer, &hidden)?;
        }
        Ok(hidden)
    }

    /// Like [`Backbone::forward`], but also returns what the backward pass needs of each layer.
    pub(super) fn forward_keeping(&self, ids: &Tensor, recompute: bool) -> Result<(Tensor, Vec<Kept<'_>>)> {
        let mut hidden = self.model.embed(ids)?;
        let mut kept = Vec::with_capacity(self.layers.len());
        for layer in self.layers {
            let output = if recompute {
                let output = self.apply(layer, &hidden)?;
                kept.push(Kept::Input(hidden));
                output
            } else {
                let (output, tape) = self.record(layer, hidden)?;
                kept.push(Kept::Tape(Box::new(tape)));
                output
            };
            hidden = output;
        }
        Ok((hidden, kept))
    }

    /// Given the gradient of the output rows' hidden states, adds the gradients of all factors to `sums`.
    pub(super) fn backward(&self, mut gradient: Tensor, kept: Vec<Kept<'_>>, sums: &[LayerFactors]) -> Result<()> {
        for ((layer, kept), sums) in self.layers.iter().zip(kept).zip(sums).rev() {
            let tape = match kept {
                Kept::Tape(tape) => *tape,
                Kept::Input(input) => self.record(layer, input)?.1,
            };
            let Some(by_input) = self.layer_backward(layer, tape, gradient, sums)? else { break };
            gradient = by_input;
        }
        Ok(())
    }

    /// The rows of `x` `[T, ..]` from which a layer's output is computed.
    fn wanted(&self, layer: &AdaptedLayer<'_>, x: &Tensor) -> Result<Tensor> {
        Ok(if layer.last { x.f_index_select(0, &self.output.rows)? } else { x.shallow_clone() })
    }

    fn attention(&self) -> Attention<'_> {
        Attention { config: &self.model.config, rope: &self.rope, packing: self.packing }
    }

    /// The rows that a layer's projection is applied to, by member.
    fn rows(&self, layer: &AdaptedLayer<'_>, projection: JointProjection) -> &MemberRows {
        match projection {
            JointProjection::Qkv => self.rows,
            _ if layer.last => &self.output.members,
            _ => self.rows,
        }
    }

    /// Computes a layer's output only.
    fn apply(&self, layer: &AdaptedLayer<'_>, input: &Tensor) -> Result<Tensor> {
        let pass = Forward { backbone: self, layer };
        Ok(decoder_layer(layer.weights, self.model.config.rms_norm_eps, input, &pass)?.0)
    }

    /// Computes a layer's output and what its gradient needs.
    fn record<'b>(&'b self, layer: &'b AdaptedLayer<'b>, input: Tensor) -> Result<(Tensor, Tape<'b>)> {
        let pass = Recorded(Forward { backbone: self, layer });
        let (output, activations) = decoder_layer(layer.weights, self.model.config.rms_norm_eps, &input, &pass)?;
        Ok((output, Tape { input, activations }))
    }

    /// The gradient of the layer's input; `None` for the first layer.
    fn layer_backward(
        &self,
        layer: &AdaptedLayer<'_>,
        tape: Tape<'_>,
        gradient: Tensor,
        sums: &LayerFactors,
    ) -> Result<Option<Tensor>> {
        let (weights, eps) = (layer.weights, self.model.config.rms_norm_eps);
        let Tape { input, activations } = tape;
        // Each activation is dropped as soon as nothing needs it any more.
        let Activations {
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
        } = activations;
        let backward = |projection, gradient: &Tensor, x: &Tensor, inner| {
            let rows = self.rows(layer, projection);
            layer.linear(projection).backward(gradient, x, inner, rows, sums)
        };
        let by_gated = backward(JointProjection::Down, &gradient, &gated, down)?;
        drop(gated);
        let by_gate_up = gated_backward(&by_gated, gate_up_output)?;
        drop(by_gated);
        let by_normed = backward(JointProjection::GateUp, &by_gate_up, &mlp_input, gate_up)?;
        drop((by_gate_up, mlp_input));
        let mut by_between = rms_norm_backward(&by_normed, &between, &weights.post_attention_layernorm, eps)?;
        let gradient = by_between.f_add_(&gradient)?;

        let attended = self.wanted(layer, &attention.attended()?)?;
        let mut by_attended = backward(JointProjection::O, &gradient, &attended, o)?;
        drop(attended);
        if layer.last {
            let zeros =
                Tensor::f_zeros([input.size()[0], by_attended.size()[1]], (by_attended.kind(), by_attended.device()));
            by_attended = zeros?.f_index_copy_(0, &self.output.rows, &by_attended)?;
        }
        let by_qkv = attention.backward(&by_attended)?;
        drop(by_attended);
        if layer.first {
            layer.linear(JointProjection::Qkv).factors_backward(&by_qkv, &attention_input, qkv, self.rows, sums)?;
            return Ok(None);
        }
        let by_normed = backward(JointProjection::Qkv, &by_qkv, &attention_input, qkv)?;
        let mut by_input = rms_norm_backward(&by_normed, &input, &weights.input_layernorm, eps)?;
        Ok(Some(if layer.last {
            by_input.f_index_add_(0, &self.output.rows, &gradient)?
        } else {
            by_input.f_add_(&gradient)?
        }))
    }
}

/// A forward pass through a layer that keeps nothing.
struct Forward<'p> {
    backbone: &'p Backbone<'p>,
    layer: &'p AdaptedLayer<'p>,
}

impl LayerPass for Forward<'_> {
    type Projected = ();
    type Attended = ();

    fn project(&self, projection: JointProjection, x: &Tensor) -> Result<(Tensor, ())> {
        let rows = self.backbone.rows(self.layer, projection);
        let (output, _) = self.layer.linear(projection).forward(x, rows)?;
        Ok((output, ()))
    }

    fn attend(&self, qkv: Tensor) -> Result<(Tensor, ())> {
        Ok((self.backbone.attention().attend(self.layer.weights, &qkv)?, ()))
    }

    fn wanted(&self, x: &Tensor) -> Result<Tensor> {
        self.backbone.wanted(self.layer, x)
    }
}

/// A forward pass through a layer that keeps everything.
struct Recorded<'p>(Forward<'p>);

impl<'p> LayerPass for Recorded<'p> {
    type Projected = Inner;
    type Attended = AttentionTape<'p>;

    fn project(&self, projection: JointProjection, x: &Tensor) -> Result<(Tensor, Inner)> {
        let Forward { backbone, layer } = self.0;
        layer.linear(projection).forward(x, backbone.rows(layer, projection))
    }

    fn attend(&self, qkv: Tensor) -> Result<(Tensor, AttentionTape<'p>)> {
        let Forward { backbone, layer } = self.0;
        let tape = backbone.attention().record(layer.weights, qkv)?;
        Ok((tape.attended()?, tape))
    }

    fn wanted(&self, x: &Tensor) -> Result<Tensor> {
        self.0.wanted(x)
    }
}

/// The layers with the adapters of the members in a micro-batch.
#[derive(Debug)]
pub(super) struct AdaptedLayers<'a> {
    members: Vec<i64>,
    pub(super) layers: Vec<AdaptedLayer<'a>>,
}

/// A layer's weights and its projections.
#[derive(Debug)]
pub(super) struct AdaptedLayer<'a> {
    /// The embedding before the first layer is frozen, so the gradient of its output is not needed.
    pub(super) first: bool,
    /// Only some rows of the last layer's output are read.
    pub(super) last: bool,
    pub(super) weights: &'a LayerWeights,
    /// In the order of [`JointProjection::ALL`].
    linear: [AdaptedLinear<'a>; 4],
}

impl<'a> AdaptedLayer<'a> {
    pub(super) fn linear(&self, projection: JointProjection) -> &AdaptedLinear<'a> {
        &self.linear[projection as usize]
    }
}

impl<'a> AdaptedLayers<'a> {
    /// With the adapters of the members that have `rows`, or without adapters. `keep` says whether merged weights may
    /// be kept for the next product.
    pub(super) fn new(
        model: &'a Model,
        population: Option<&Population>,
        rows: &MemberRows,
        keep: bool,
    ) -> Result<Self> {
        let layers = model.layers.iter().enumerate().map(|(index, weights)| {
            let factors = population.map(|population| (&population.layers[index], population.shape.scaling()));
            let linear = |projection: JointProjection| {
                let (weight, bias) = weights.projection(projection);
                AdaptedLinear::new(weight, bias, projection.parts(), factors, rows, &model.config, keep)
            };
            let [qkv, o, gate_up, down] = JointProjection::ALL.map(linear);
            Ok(AdaptedLayer {
                first: index == 0,
                last: index + 1 == model.layers.len(),
                weights,
                linear: [qkv?, o?, gate_up?, down?],
            })
        });
        Ok(Self { members: rows.members().to_vec(), layers: layers.collect::<Result<_>>()? })
    }

    /// Whether these layers belong to the members that have `rows`.
    pub(super) fn serve(&self, rows: &MemberRows) -> bool {
        self.members == rows.members()
    }
}

/// The gradient with respect to `gate_up` `[T, 2 · width]` of `silu(gate) · up`, given the gradient with respect to its
/// result `[T, width]`; overwrites `gate_up` if possible.
pub(super) fn gated_backward(gradient: &Tensor, mut gate_up: Tensor) -> Result<Tensor> {
    let width = gradient.size()[1];
    if let (Some(gradient), Some(numbers)) = (host::numbers(gradient), host::numbers_mut(&mut gate_up)) {
        kernels::gated::gated_backward(host::threads(), width as usize, numbers, gradient);
        return Ok(gate_up);
    }
    let (gate, up) = (gate_up.f_narrow(1, 0, width)?, gate_up.f_narrow(1, width, width)?);
    let result = gate_up.f_empty_like()?;
    let (by_gate, by_up) = (result.f_narrow(1, 0, width)?, result.f_narrow(1, width, width)?);
    let _ = gate.f_silu()?.f_mul_out(&by_up, gradient)?;
    let _ = gate.f_silu_backward_grad_input(&by_gate, &gradient.f_mul(&up)?)?;
    Ok(result)
}

/// The gradient with respect to `x` `[T, width]` of `x / √(mean(x²) + eps) · weight`, given the gradient with respect
/// to its result; computed in fp32, returned in the type of `x`.
pub(super) fn rms_norm_backward(gradient: &Tensor, x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let width = x.size()[1];
    if let (Some(gradient), Some(numbers), Some(weight)) =
        (host::numbers(gradient), host::numbers(x), host::numbers(weight))
    {
        let mut out = x.f_empty_like()?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernels::norm::rms_norm_backward(host::threads(), gradient, numbers, weight, eps as f32, out);
        }
        return Ok(out);
    }
    let wide = x.f_to_kind(Kind::Float)?;
    let reciprocal = wide
        .f_linalg_norm(2, [1].as_slice(), true, Kind::Float)?
        .f_square()?
        .f_div_scalar(width)?
        .f_add_scalar(eps)?
        .f_rsqrt()?;
    let mut weighted = gradient.f_to_kind(Kind::Float)?.f_mul(weight)?;
    let along = weighted
        .f_mul(&wide)?
        .f_sum_dim_intlist([1].as_slice(), true, Kind::Float)?
        .f_mul(&reciprocal.f_pow_tensor_scalar(3)?)?
        .f_div_scalar(-width)?;
    let _ = weighted.f_mul_(&reciprocal)?.f_addcmul_(&wide, &along)?;
    Ok(weighted.f_to_kind(x.kind())?)
}
