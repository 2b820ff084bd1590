//! Text embeddings: the mean of a text's hidden states under the base without adapters, normalised to length 1.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::passes::{Padded, check_ids, passes};

impl Model {
    /// Returns one unit vector of `hidden_size` numbers per sequence of ids: the normalised mean of its hidden states
    /// after the final norm. Cosine similarity of two vectors is their dot product. Errors name a text by its index.
    pub fn embed_texts(&self, sequences: &[Vec<i64>], tokens_per_pass: usize) -> Result<Vec<Vec<f32>>> {
        let _no_grad = tch::no_grad_guard();
        let refuse = |index: usize, reason: String| EngineError::request(format!("text {index}"), reason);
        for (index, ids) in sequences.iter().enumerate() {
            check_ids(ids, &self.config).map_err(|reason| refuse(index, reason))?;
        }
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let mut embeddings = Vec::with_capacity(sequences.len());
        for range in passes(&lengths, tokens_per_pass) {
            let padded = Padded::new(&sequences[range], self.placement.device)?;
            let hidden = self.hidden_states(&padded.ids, None)?.f_to_kind(Kind::Float)?;
            let positions = Tensor::f_arange(padded.length, (Kind::Int64, self.placement.device))?.f_unsqueeze(0)?;
            let real = positions
                .f_lt_tensor(&padded.lengths.f_unsqueeze(1)?)?
                .f_to_kind(Kind::Float)?
                .f_unsqueeze(2)?;
            // Normalisation removes the scale, so the sum is enough.
            let sums = hidden
                .f_mul(&real)?
                .f_sum_dim_intlist([1].as_slice(), false, Kind::Float)?;
            let norms = sums.f_norm_scalaropt_dim(2.0, [1], true)?;
            // Products of finite weights may overflow to NaN, or to zero in a norm.
            let lengths: Vec<f32> = Vec::try_from(&norms.f_flatten(0, -1)?.f_to_device(Device::Cpu)?)?;
            if let Some(at) = lengths.iter().position(|length| !length.is_finite() || *length == 0.0) {
                let reason = format!(
                    "the sum of its hidden states has length {}; it must be finite and not 0",
                    lengths[at]
                );
                return Err(refuse(embeddings.len() + at, reason));
            }
            let rows: Vec<Vec<f32>> = Vec::try_from(sums.f_div(&norms)?.f_to_device(Device::Cpu)?)?;
            embeddings.extend(rows);
        }
        Ok(embeddings)
    }
}
