//! A decoder layer in generation and scoring.

use tch::Tensor;

use super::attention::{Attend, rotated_heads};
use super::decoder_layer::LayerPass;
use super::layer::LayerWeights;
use super::rope::RopeTables;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::population::{JointProjection, LayerAdapters, RowGroups};
use crate::product::linear;

/// The rows of the batch whose output is needed, if not all.
#[derive(Debug, Clone, Copy)]
pub struct OutputRows<'a> {
    /// Indices among the `sequences · length` rows, `[R]`.
    pub rows: &'a Tensor,
    /// Their grouping by member; `None` if no row has an adapter.
    pub groups: Option<&'a RowGroups>,
}

/// Applies a layer to `sequences · length` tokens; a row of the batch is a token.
pub(super) struct Inference<'a> {
    pub(super) config: &'a ModelConfig,
    pub(super) weights: &'a LayerWeights,
    /// Index of the layer, for the cache.
    pub(super) index: usize,
    pub(super) sequences: i64,
    pub(super) length: i64,
    pub(super) rope: &'a RopeTables,
    pub(super) attention: &'a dyn Attend,
    /// The layer's factors, arranged for these groups, and the rows of each member.
    pub(super) adapters: Option<(&'a LayerAdapters, &'a RowGroups)>,
    pub(super) output: Option<OutputRows<'a>>,
}

impl LayerPass for Inference<'_> {
    type Projected = ();
    type Attended = ();

    fn project(&self, projection: JointProjection, x: &Tensor) -> Result<(Tensor, ())> {
        let (weight, bias) = self.weights.projection(projection);
        let base = linear(x, weight, bias)?;
        let Some((adapters, all)) = self.adapters else {
            return Ok((base, ()));
        };
        let groups = match (projection, self.output) {
            (JointProjection::Qkv, _) | (_, None) => Some(all),
            (_, Some(output)) => output.groups,
        };
        let output = match adapters.of(projection).zip(groups) {
            Some((low_rank, groups)) => low_rank.add_to(base, x, groups)?,
            None => base,
        };
        Ok((output, ()))
    }

    fn attend(&self, qkv: Tensor) -> Result<(Tensor, ())> {
        let idle = self.adapters.and_then(|(_, groups)| groups.idle());
        let qkv = match idle {
            Some(idle) => idle.without(&qkv)?,
            None => qkv,
        };
        let qkv = qkv.f_view([qkv.size()[0] / self.length, self.length, -1])?;
        let (query, key, value) = rotated_heads(self.config, self.weights, &qkv, self.rope)?;
        let mut attended = self.attention.attend(self.index, &query, &key, &value)?;
        if let Some(idle) = idle {
            attended = idle.with(&attended)?;
        }
        let rows = [self.sequences * self.length, self.config.query_size()];
        Ok((attended.f_reshape(rows)?, ()))
    }

    fn wanted(&self, x: &Tensor) -> Result<Tensor> {
        Ok(match self.output {
            Some(OutputRows { rows, .. }) => x.f_index_select(0, rows)?,
            None => x.shallow_clone(),
        })
    }
}
