//! The decoder layers, forward and backward, with activations kept or computed again.

use tch::Tensor;

use super::attention::{Attention, AttentionTape};
use super::layers::{AdaptedLayer, AdaptedLayers};
use super::layout::{Layout, OutputRows, Packing};
use super::mlp::gated_backward;
use super::norm::rms_norm_backward;
use super::rows::MemberRows;
use crate::error::Result;
use crate::model::{Model, RopeTables, gated, rms_norm};
use crate::population::LayerFactors;

/// The layers with their members' adapters, on one micro-batch.
pub(super) struct Backbone<'a> {
    model: &'a Model,
    rows: &'a MemberRows,
    packing: &'a Packing,
    output: &'a OutputRows,
    rope: RopeTables,
    layers: &'a [AdaptedLayer<'a>],
}

/// What the backward pass needs of each layer.
pub(super) enum Kept<'a> {
    /// Its input, `[T, hidden_size]`: the rest is computed again.
    Input(Tensor),
    /// Everything.
    Tape(Box<Tape<'a>>),
}

/// The activations of a layer. `inner` are the products with the adapters' A.
pub(super) struct Tape<'a> {
    input: Tensor,
    normed: Tensor,
    qkv_inner: Option<Tensor>,
    attention: AttentionTape<'a>,
    o_inner: Option<Tensor>,
    between: Tensor,
    between_normed: Tensor,
    gate_up: Tensor,
    gate_up_inner: Option<Tensor>,
    gated: Tensor,
    down_inner: Option<Tensor>,
}

impl<'a> Backbone<'a> {
    /// `layers` are of the members that `layout` has rows of.
    pub(super) fn new(model: &'a Model, layers: &'a AdaptedLayers<'_>, layout: &'a Layout) -> Result<Self> {
        Ok(Self {
            model,
            rows: &layout.members,
            packing: &layout.packing,
            output: &layout.output,
            rope: model.rope_tables(layout.packing.length)?,
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

    /// The same, and what the backward pass needs of each layer.
    pub(super) fn forward_keeping(&self, ids: &Tensor, recompute: bool) -> Result<(Tensor, Vec<Kept<'_>>)> {
        let mut hidden = self.model.embed(ids)?;
        let mut kept = Vec::with_capacity(self.layers.len());
        for layer in self.layers {
            if recompute {
                let output = self.apply(layer, &hidden)?;
                kept.push(Kept::Input(std::mem::replace(&mut hidden, output)));
            } else {
                let (output, tape) = self.record(layer, hidden)?;
                kept.push(Kept::Tape(Box::new(tape)));
                hidden = output;
            }
        }
        Ok((hidden, kept))
    }

    /// Given the gradient of the output rows' hidden states, adds those of all factors to `sums`.
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

    /// The rows of `x` `[T, ..]` that a layer's output is computed of.
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

    fn output_rows(&self, layer: &AdaptedLayer<'_>) -> &MemberRows {
        if layer.last { &self.output.members } else { self.rows }
    }

    fn apply(&self, layer: &AdaptedLayer<'_>, input: &Tensor) -> Result<Tensor> {
        let (config, weights) = (&self.model.config, layer.weights);
        let normed = rms_norm(input, &weights.input_layernorm, config.rms_norm_eps)?;
        let (qkv, _) = layer.qkv.forward(&normed, self.rows)?;
        let attended = self.wanted(layer, &self.attention().attend(weights, &qkv)?)?;
        let (input, rows) = (self.wanted(layer, input)?, self.output_rows(layer));
        let between = layer.o.forward(&attended, rows)?.0.f_add_(&input)?;
        let normed = rms_norm(&between, &weights.post_attention_layernorm, config.rms_norm_eps)?;
        let (gate_up, _) = layer.gate_up.forward(&normed, rows)?;
        Ok(layer.down.forward(&gated(&gate_up)?, rows)?.0.f_add_(&between)?)
    }

    fn record(&self, layer: &AdaptedLayer<'_>, input: Tensor) -> Result<(Tensor, Tape<'_>)> {
        let (config, weights) = (&self.model.config, layer.weights);
        let normed = rms_norm(&input, &weights.input_layernorm, config.rms_norm_eps)?;
        let (qkv, qkv_inner) = layer.qkv.forward(&normed, self.rows)?;
        let attention = self.attention().record(weights, qkv)?;
        let rows = self.output_rows(layer);
        let attended = self.wanted(layer, &attention.attended()?)?;
        let (mut between, o_inner) = layer.o.forward(&attended, rows)?;
        let between = between.f_add_(&self.wanted(layer, &input)?)?;
        let between_normed = rms_norm(&between, &weights.post_attention_layernorm, config.rms_norm_eps)?;
        let (gate_up, gate_up_inner) = layer.gate_up.forward(&between_normed, rows)?;
        let gated = gated(&gate_up)?;
        let (mut output, down_inner) = layer.down.forward(&gated, rows)?;
        let output = output.f_add_(&between)?;
        let tape = Tape {
            input,
            normed,
            qkv_inner,
            attention,
            o_inner,
            between,
            between_normed,
            gate_up,
            gate_up_inner,
            gated,
            down_inner,
        };
        Ok((output, tape))
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
        let rows = self.output_rows(layer);
        let by_gated = layer
            .down
            .backward(&gradient, &tape.gated, tape.down_inner, rows, sums)?;
        drop(tape.gated);
        let by_gate_up = gated_backward(&by_gated, tape.gate_up)?;
        drop(by_gated);
        let by_normed = layer
            .gate_up
            .backward(&by_gate_up, &tape.between_normed, tape.gate_up_inner, rows, sums)?;
        drop((by_gate_up, tape.between_normed));
        let mut by_between = rms_norm_backward(&by_normed, &tape.between, &weights.post_attention_layernorm, eps)?;
        let gradient = by_between.f_add_(&gradient)?;

        let attended = self.wanted(layer, &tape.attention.attended()?)?;
        let mut by_attended = layer.o.backward(&gradient, &attended, tape.o_inner, rows, sums)?;
        drop(attended);
        if layer.last {
            let zeros = Tensor::f_zeros(
                [tape.input.size()[0], by_attended.size()[1]],
                (by_attended.kind(), by_attended.device()),
            );
            by_attended = zeros?.f_index_copy_(0, &self.output.rows, &by_attended)?;
        }
        let by_qkv = tape.attention.backward(&by_attended)?;
        drop(by_attended);
        if layer.first {
            layer
                .qkv
                .factors_backward(&by_qkv, &tape.normed, tape.qkv_inner, self.rows, sums)?;
            return Ok(None);
        }
        let by_normed = layer
            .qkv
            .backward(&by_qkv, &tape.normed, tape.qkv_inner, self.rows, sums)?;
        let mut by_input = rms_norm_backward(&by_normed, &tape.input, &weights.input_layernorm, eps)?;
        Ok(Some(if layer.last {
            by_input.f_index_add_(0, &self.output.rows, &gradient)?
        } else {
            by_input.f_add_(&gradient)?
        }))
    }
}
