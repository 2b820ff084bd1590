//! Vocabulary dropout: hides a random part of the vocabulary from a batch.

use lyceum_core::work::VocabularyMask;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tch::{Device, Tensor};

use super::request::GenerationRequest;
use crate::error::{EngineError, Result};

/// `true` for each id that the mask drops (*Vocabulary Dropout for Curriculum Diversity in LLM Co-Evolution*, section
/// 4.1). The value for an id depends on seed and rate only.
pub fn dropped(mask: &VocabularyMask, vocab_size: i64) -> Vec<bool> {
    let mut random = ChaCha8Rng::seed_from_u64(mask.seed);
    let threshold = ((1.0 - mask.keep_rate) * 2f64.powi(32)) as u64;
    let mut dropped: Vec<bool> = (0..vocab_size)
        .map(|_| u64::from(random.next_u32()) < threshold)
        .collect();
    for &id in &mask.protected {
        if let Some(entry) = dropped.get_mut(id as usize) {
            *entry = false;
        }
    }
    dropped
}

/// The mask shared by all requests of a batch.
///
/// # Errors
/// Requests with different masks.
pub(super) fn shared(requests: &[GenerationRequest]) -> Result<Option<&VocabularyMask>> {
    let Some(first) = requests.first() else {
        return Ok(None);
    };
    let mask = &first.sampling.vocabulary_mask;
    if let Some(other) = requests.iter().find(|other| other.sampling.vocabulary_mask != *mask) {
        let reason = format!(
            "its `vocabulary_mask` differs from that of request `{}`; a batch has one mask",
            first.id
        );
        return Err(EngineError::request(&other.id, reason));
    }
    Ok(mask.as_ref())
}

/// The mask as a boolean tensor `[vocab_size]`.
pub(super) fn tensor(mask: &VocabularyMask, vocab_size: i64, device: Device) -> Result<Tensor> {
    if !(mask.keep_rate > 0.0 && mask.keep_rate <= 1.0) {
        let reason = format!("`keep_rate` is {}; it must be above 0 and at most 1", mask.keep_rate);
        return Err(EngineError::request("vocabulary mask", reason));
    }
    let dropped = dropped(mask, vocab_size);
    if dropped.iter().all(|&dropped| dropped) {
        return Err(EngineError::request(
            "vocabulary mask",
            "every id is dropped; protect the ids that are needed",
        ));
    }
    Ok(Tensor::f_from_slice(&dropped)?.f_to_device(device)?)
}
