//! Vocabulary dropout: hides a random part of the vocabulary from a batch.

use lyceum_core::work::{Sampling, VocabularyMask};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tch::Tensor;

use super::options::GenerationRequest;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::tokenizer::Tokenizer;

/// `true` for each id that the mask drops (*Vocabulary Dropout for Curriculum Diversity in LLM Co-Evolution*, section
/// 4.1). The draw for an id depends on seed and rate only. `kept` are ids that are never dropped, besides those that the
/// mask protects by id.
pub fn dropped(mask: &VocabularyMask, vocab_size: i64, kept: &[i64]) -> Vec<bool> {
    let mut random = ChaCha8Rng::seed_from_u64(mask.seed);
    let threshold = ((1.0 - mask.keep_rate) * 2f64.powi(32)) as u64;
    let mut dropped: Vec<bool> = (0..vocab_size).map(|_| u64::from(random.next_u32()) < threshold).collect();
    let protected = mask.protected.iter().map(|&id| i64::from(id));
    for id in protected.chain(kept.iter().copied()) {
        if let Some(entry) = usize::try_from(id).ok().and_then(|id| dropped.get_mut(id)) {
            *entry = false;
        }
    }
    dropped
}

/// The mask shared by all requests of a batch.
///
/// # Errors
/// Requests with different masks, or with a mask and different ids that end them.
pub(super) fn shared(requests: &[GenerationRequest]) -> Result<Option<&VocabularyMask>> {
    let Some(first) = requests.first() else { return Ok(None) };
    let mask = &first.sampling.vocabulary_mask;
    if let Some(other) = requests.iter().find(|other| other.sampling.vocabulary_mask != *mask) {
        let reason = format!("its `vocabulary_mask` differs from that of request `{}`; a batch has one mask", first.id);
        return Err(EngineError::request(&other.id, reason));
    }
    let ends = |sampling: &Sampling| (sampling.ignore_eos, sampling.stop_token_ids.clone());
    if mask.is_some()
        && let Some(other) = requests.iter().find(|other| ends(&other.sampling) != ends(&first.sampling))
    {
        let reason = format!(
            "its `stop_token_ids` or `ignore_eos` differ from those of request `{}`; a batch with a mask keeps the ids that \
             end all of its requests",
            first.id
        );
        return Err(EngineError::request(&other.id, reason));
    }
    Ok(mask.as_ref())
}

/// The batch's mask as a boolean tensor `[vocab_size]`, true for dropped ids; `None` without a mask.
///
/// # Errors
/// As [`shared`]; a rate outside of (0, 1], something to protect that the vocabulary lacks, or a mask that leaves fewer
/// than two ids.
pub(super) fn tensor(
    requests: &[GenerationRequest],
    model: &Model,
    tokenizer: Option<&Tokenizer>,
) -> Result<Option<Tensor>> {
    let (Some(mask), Some(first)) = (shared(requests)?, requests.first()) else { return Ok(None) };
    let refuse = |reason: String| EngineError::request("vocabulary mask", reason);
    if !(mask.keep_rate > 0.0 && mask.keep_rate <= 1.0) {
        let reason = format!("`keep_rate` is {}; it must be above 0 and at most 1", mask.keep_rate);
        return Err(refuse(reason));
    }
    let vocab_size = model.config.vocab_size;
    if let Some(id) = mask.protected.iter().find(|&&id| i64::from(id) >= vocab_size) {
        let reason = format!("`protected` names id {id}, which is outside the vocabulary of {vocab_size}");
        return Err(refuse(reason));
    }
    let mut kept = spelled(mask, tokenizer)?;
    kept.extend(ends(&first.sampling, model));
    let dropped = dropped(mask, vocab_size, &kept);
    let left = dropped.iter().filter(|&&dropped| !dropped).count();
    if left < 2 {
        let reason = format!(
            "`keep_rate` {} leaves {left} of {vocab_size} ids; at least 2 are needed: raise it or protect more",
            mask.keep_rate
        );
        return Err(refuse(reason));
    }
    let dropped = Tensor::f_from_slice(&dropped)?.f_to_device(model.placement.device)?;
    Ok(Some(dropped))
}

/// The ids of the protected texts.
fn spelled(mask: &VocabularyMask, tokenizer: Option<&Tokenizer>) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for text in &mask.protected_texts {
        let refuse = |reason: &str| EngineError::request("vocabulary mask", format!("`protected_texts`: {reason}"));
        let tokenizer = tokenizer.ok_or_else(|| refuse("they need the model's tokenizer.json"))?;
        let spelled = tokenizer.spelling(text)?;
        ids.extend(spelled.ok_or_else(|| refuse(&format!("the vocabulary has no tokens for `{text}`")))?);
    }
    Ok(ids)
}

/// The ids that end a completion.
fn ends<'a>(sampling: &'a Sampling, model: &'a Model) -> impl Iterator<Item = i64> + 'a {
    let own = model.config.eos_token_ids.iter().filter(|_| !sampling.ignore_eos);
    let given = sampling.stop_token_ids.iter().map(|&id| i64::from(id));
    own.copied().chain(given)
}
