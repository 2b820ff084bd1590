//! Attention of a micro-batch whose sequences may share prompts.

mod fused;
mod products;

use tch::{Device, Kind, Tensor};

use super::layout::Packing;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::model::{LayerWeights, RopeTables};
use fused::FusedTape;
use products::{Products, ProductsTape};

/// Inputs of a layer's attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention<'a> {
    pub(super) config: &'a ModelConfig,
    pub(super) rope: &'a RopeTables,
    pub(super) packing: &'a Packing,
}

impl<'a> Attention<'a> {
    /// From the joint projection `[T, query_size + 2 · key_value_size]` to the attended values `[T, query_size]`.
    pub(super) fn attend(&self, weights: &LayerWeights, qkv: &Tensor) -> Result<Tensor> {
        match self.products(weights, qkv) {
            Some(products) => products.attend(qkv),
            None => fused::attend(self, weights, qkv),
        }
    }

    /// Computes attention and keeps what the gradient needs.
    pub(super) fn record(&self, weights: &LayerWeights, qkv: Tensor) -> Result<AttentionTape<'a>> {
        Ok(match self.products(weights, &qkv) {
            Some(products) => AttentionTape::Products(products.record(&qkv)?),
            None => AttentionTape::Fused(FusedTape::record(self, weights, &qkv)?),
        })
    }

    /// Returns the matrix-product implementation if it is cheaper: on a CPU, while all scores take no more memory than
    /// the gated MLP's intermediates. libtorch's own attention needs a fraction of the memory but several times as
    /// long.
    fn products(&self, weights: &LayerWeights, qkv: &Tensor) -> Option<Products<'a>> {
        let config = self.config;
        let here = qkv.device() == Device::Cpu && qkv.kind() == Kind::Float && weights.qk_norm.is_none();
        let short = config.num_attention_heads * self.packing.length() <= config.intermediate_size;
        (here && short)
            .then(|| Products::new(config, self.rope, self.packing))
            .flatten()
    }
}

/// A recorded attention pass, for its gradient.
#[derive(Debug)]
pub(super) enum AttentionTape<'a> {
    /// By libtorch's fused attention.
    Fused(FusedTape),
    /// By matrix products.
    Products(ProductsTape<'a>),
}

impl AttentionTape<'_> {
    /// The attended values, `[T, query_size]`.
    pub(super) fn attended(&self) -> Result<Tensor> {
        match self {
            Self::Fused(tape) => tape.attended(),
            Self::Products(tape) => Ok(tape.attended()),
        }
    }

    /// The gradient of the joint projection, given that of the attended values.
    pub(super) fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        match self {
            Self::Fused(tape) => tape.backward(gradient),
            Self::Products(tape) => tape.backward(gradient),
        }
    }
}
