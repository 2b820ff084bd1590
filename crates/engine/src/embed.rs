//! Text embeddings: the mean of a text's hidden states under the base without adapters, normalised to length 1.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::passes::{Padded, check_ids, in_passes};

impl Model {
    /// Returns one unit vector of `hidden_size` numbers per sequence of ids: the normalised mean of its hidden states
    /// after the final norm. Cosine similarity of two vectors is their dot product. The passes are halved when memory runs
    /// out. Errors name a text by its index.
    pub fn embed_texts(&self, sequences: &[Vec<i64>], tokens_per_pass: usize) -> Result<Vec<Vec<f32>>> {
        let _no_grad = tch::no_grad_guard();
        for (index, ids) in sequences.iter().enumerate() {
            check_ids(ids, &self.config).map_err(|reason| refusal(index, reason))?;
        }
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        in_passes(
            (&lengths, tokens_per_pass),
            self.placement.device,
            &|index| format!("text {index}"),
            &mut |_| (),
            |range| self.embed_pass(range.start, &sequences[range]),
        )
    }

    /// Embeds texts in one pass; `first` is the index of the first of them.
    fn embed_pass(&self, first: usize, sequences: &[Vec<i64>]) -> Result<Vec<Vec<f32>>> {
        let padded = Padded::new(sequences, self.placement.device)?;
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
            return Err(refusal(first + at, reason));
        }
        Ok(Vec::try_from(&sums.f_div(&norms)?.f_to_device(Device::Cpu)?)?)
    }
}

fn refusal(index: usize, reason: String) -> EngineError {
    EngineError::request(format!("text {index}"), reason)
}
