//! The decoder layers with the adapters of the members in a micro-batch.

use super::linear::AdaptedLinear;
use super::rows::MemberRows;
use crate::error::Result;
use crate::model::{LayerWeights, Model};
use crate::population::{JointProjection, Population};

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
        Ok(Self {
            members: rows.members().to_vec(),
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// Whether these layers belong to the members that have `rows`.
    pub(super) fn serve(&self, rows: &MemberRows) -> bool {
        self.members == rows.members()
    }
}
