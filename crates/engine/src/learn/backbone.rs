//! The decoder layers, forward and backward, with activations kept or recomputed.

use tch::Tensor;

use super::attention::{Attention, AttentionTape};
use super::layers::{AdaptedLayer, AdaptedLayers};
use super::layout::{Layout, OutputRows, Packing};
use super::mlp::gated_backward;
use super::norm::rms_norm_backward;
use super::rows::MemberRows;
use crate::error::Result;
use crate::model::{Activations, LayerPass, Model, RopeTables, decoder_layer};
use crate::population::{JointProjection, LayerFactors};

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
            let Some(by_input) = self.layer_backward(layer, tape, gradient, sums)? else {
                break;
            };
            gradient = by_input;
        }
        Ok(())
    }

    /// The rows of `x` `[T, ..]` from which a layer's output is computed.
    fn wanted(&self, layer: &AdaptedLayer<'_>, x: &Tensor) -> Result<Tensor> {
        Ok(if layer.last {
            x.f_index_select(0, &self.output.rows)?
        } else {
            x.shallow_clone()
        })
    }

    fn attention(&self) -> Attention<'_> {
        Attention {
            config: &self.model.config,
            rope: &self.rope,
            packing: self.packing,
        }
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
            let zeros = Tensor::f_zeros(
                [input.size()[0], by_attended.size()[1]],
                (by_attended.kind(), by_attended.device()),
            );
            by_attended = zeros?.f_index_copy_(0, &self.output.rows, &by_attended)?;
        }
        let by_qkv = attention.backward(&by_attended)?;
        drop(by_attended);
        if layer.first {
            layer
                .linear(JointProjection::Qkv)
                .factors_backward(&by_qkv, &attention_input, qkv, self.rows, sums)?;
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
