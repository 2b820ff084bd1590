//! Vocabulary dropout: hides a random part of the vocabulary from a batch.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};

use crate::error::{EngineError, Result};

/// A hard mask over the logits, the same for all positions of a batch, determined by its seed (*Vocabulary Dropout for
/// Curriculum Diversity in LLM Co-Evolution*, section 4.1; `rate` is one minus the paper's retention probability α).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VocabularyMask {
    /// Determines which ids are dropped.
    pub seed: u64,
    /// Probability of dropping each id, at least 0 and below 1.
    pub rate: f64,
    /// Ids that are never dropped because the format needs them.
    #[serde(default)]
    pub protected: Vec<i64>,
}

impl VocabularyMask {
    /// `true` for each dropped id. The value for an id depends on seed and rate only.
    pub fn dropped(&self, vocab_size: i64) -> Vec<bool> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let threshold = (self.rate * 2f64.powi(32)) as u64;
        let mut dropped: Vec<bool> = (0..vocab_size)
            .map(|_| u64::from(random.next_u32()) < threshold)
            .collect();
        for &id in &self.protected {
            if let Some(entry) = usize::try_from(id).ok().and_then(|id| dropped.get_mut(id)) {
                *entry = false;
            }
        }
        dropped
    }

    /// The mask as a boolean tensor `[vocab_size]`.
    pub(super) fn tensor(&self, vocab_size: i64, device: Device) -> Result<Tensor> {
        if !(self.rate >= 0.0 && self.rate < 1.0) {
            let reason = format!("`rate` is {}; it must be at least 0 and below 1", self.rate);
            return Err(EngineError::request("vocabulary mask", reason));
        }
        let dropped = self.dropped(vocab_size);
        if dropped.iter().all(|&dropped| dropped) {
            return Err(EngineError::request(
                "vocabulary mask",
                "every id is dropped; protect the ids that are needed",
            ));
        }
        Ok(Tensor::f_from_slice(&dropped)?.f_to_device(device)?)
    }
}
