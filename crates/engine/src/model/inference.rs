//! A decoder layer in generation and scoring, and log-probabilities of given tokens without the logits of all positions.

use tch::{Kind, Tensor};

use super::Model;
use super::attention::{Attend, RopeTables, rotated_heads};
use super::layer::{LayerPass, LayerWeights};
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
        let Some((adapters, all)) = self.adapters else { return Ok((base, ())) };
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

impl Model {
    /// Log-probabilities in fp32 of `targets` `[T]` under normed hidden states `[T, hidden_size]`; logits are held for
    /// at most `chunk` rows at a time.
    pub fn token_logprobs(&self, hidden: &Tensor, targets: &Tensor, chunk: i64) -> Result<Tensor> {
        let rows = hidden.size()[0];
        let mut parts = Vec::new();
        let mut start = 0;
        while start < rows {
            let count = chunk.min(rows - start);
            let logprobs = self.logits(&hidden.f_narrow(0, start, count)?)?.f_log_softmax(-1, Kind::Float)?;
            let targets = targets.f_narrow(0, start, count)?.f_unsqueeze(1)?;
            parts.push(logprobs.f_gather(1, &targets, false)?.f_squeeze_dim(1)?);
            start += count;
        }
        if parts.is_empty() {
            return Ok(Tensor::f_zeros([0], (Kind::Float, hidden.device()))?);
        }
        Ok(Tensor::f_cat(&parts, 0)?)
    }
}
