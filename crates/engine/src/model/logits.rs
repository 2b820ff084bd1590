//! Log-probabilities of given tokens without holding the logits of all positions.

use tch::{Kind, Tensor};

use super::Model;
use crate::error::Result;

impl Model {
    /// Log-probabilities in fp32 of `targets` `[T]` under normed hidden states `[T, hidden_size]`; logits are held for
    /// at most `chunk` rows at a time.
    pub fn token_logprobs(&self, hidden: &Tensor, targets: &Tensor, chunk: i64) -> Result<Tensor> {
        let rows = hidden.size()[0];
        let mut parts = Vec::new();
        let mut start = 0;
        while start < rows {
            let count = chunk.min(rows - start);
            let logprobs = self
                .logits(&hidden.f_narrow(0, start, count)?)?
                .f_log_softmax(-1, Kind::Float)?;
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
