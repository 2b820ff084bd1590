//! From logits to tokens, for all rows of a batch at once.

use lyceum_core::work::Sampling;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};

/// Dividing logits by less could overflow and would hardly change the distribution.
const LOWEST_TEMPERATURE: f32 = 1e-5;

/// The sampling parameters and random-number state of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw<'a> {
    /// The request's id, for error messages.
    pub(super) request: &'a str,
    pub(super) sampling: &'a Sampling,
    pub(super) seed: u64,
    /// Index of the sample among the request's `n`.
    pub(super) sample: u64,
    /// Number of tokens generated so far.
    pub(super) position: u64,
}

impl Draw<'_> {
    /// A number in [0, 1) determined by seed, sample and position: the first word of a ChaCha block keyed by seed and
    /// sample, with the position as counter. 24 bits, so that it is exact in fp32.
    fn uniform(&self) -> f32 {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&self.sample.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_word_pos(u128::from(self.position) * 16);
        (random.next_u32() >> 8) as f32 / (1u32 << 24) as f32
    }
}

/// A drawn token with its two log-probabilities, and the entropy (nats) of the model where it was drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drawn {
    pub(super) id: i64,
    pub(super) logprob: f32,
    pub(super) sampling_logprob: f32,
    pub(super) entropy: f32,
}

/// Draws one token per row of `logits` `[rows, vocab_size]` (fp32) by inverting the cumulative distribution. `mask`
/// `[vocab_size]` is true for ids that must not be drawn.
pub(super) fn draw(logits: &Tensor, mask: Option<&Tensor>, draws: &[Draw<'_>]) -> Result<Vec<Drawn>> {
    let device = logits.device();
    let logprobs = logits.f_log_softmax(-1, Kind::Float)?;
    let probabilities = logprobs.f_exp()?;
    let plain =
        |draw: &Draw<'_>| draw.sampling.temperature == 1.0 && draw.sampling.top_k == 0 && draw.sampling.top_p == 1.0;
    let (distribution, chosen) = if mask.is_none() && draws.iter().all(plain) {
        (logprobs.shallow_clone(), choose(&logprobs, &probabilities, draws)?)
    } else {
        let distribution = process(logits, mask, draws)?;
        let chosen = choose(&distribution, &distribution.f_exp()?, draws)?;
        (distribution, chosen)
    };
    // One dot product per row, without a tensor of all terms.
    let entropies = probabilities
        .f_unsqueeze(1)?
        .f_bmm(&logprobs.f_unsqueeze(2)?)?
        .f_neg()?;
    let drawn = Tensor::f_cat(
        &[
            chosen.f_to_kind(Kind::Double)?,
            logprobs.f_gather(1, &chosen, false)?.f_to_kind(Kind::Double)?,
            distribution.f_gather(1, &chosen, false)?.f_to_kind(Kind::Double)?,
            entropies.f_squeeze_dim(2)?.f_to_kind(Kind::Double)?,
        ],
        1,
    )?;
    // One transfer for all values; ids are exact in a double.
    let rows: Vec<f64> = Vec::try_from(drawn.f_to_device(Device::Cpu)?.f_contiguous()?.f_view([-1])?)?;
    debug_assert!(device == logits.device());
    rows.chunks_exact(4)
        .zip(draws)
        .map(|(row, draw)| {
            if !row[1].is_finite() {
                return Err(EngineError::NonFinite {
                    what: format!("a log-probability of the model's output for request `{}`", draw.request),
                });
            }
            let greedy = draw.sampling.temperature == 0.0;
            let sampling_logprob = if greedy { 0.0 } else { row[2] as f32 };
            Ok(Drawn {
                id: row[0] as i64,
                logprob: row[1] as f32,
                sampling_logprob,
                entropy: row[3] as f32,
            })
        })
        .collect()
}

fn choose(distribution: &Tensor, probabilities: &Tensor, draws: &[Draw<'_>]) -> Result<Tensor> {
    let device = distribution.device();
    let greedy: Vec<bool> = draws.iter().map(|draw| draw.sampling.temperature == 0.0).collect();
    if greedy.iter().all(|&greedy| greedy) {
        return Ok(distribution.f_argmax(-1, true)?);
    }
    let cumulative = probabilities.f_cumsum(-1, Kind::Float)?;
    // Rounding keeps the sum from being exactly 1. Scaling by it keeps the search within the possible tokens.
    let total = cumulative.f_narrow(1, distribution.size()[1] - 1, 1)?;
    let uniform: Vec<f32> = draws.iter().map(Draw::uniform).collect();
    let uniform = Tensor::f_from_slice(&uniform)?
        .f_unsqueeze(1)?
        .f_to_device(device)?
        .f_mul(&total)?;
    let sampled = uniform.f_searchsorted(&cumulative, false, true, "right", None::<&Tensor>)?;
    if greedy.iter().any(|&greedy| greedy) {
        let greedy = Tensor::f_from_slice(&greedy)?.f_unsqueeze(1)?.f_to_device(device)?;
        return Ok(distribution.f_argmax(-1, true)?.f_where_self(&greedy, &sampled)?);
    }
    Ok(sampled)
}

/// Log-probabilities after mask, temperature, top-k and top-p; excluded tokens are at minus infinity.
fn process(logits: &Tensor, mask: Option<&Tensor>, draws: &[Draw<'_>]) -> Result<Tensor> {
    let device = logits.device();
    let vocabulary = logits.size()[1];
    let column = |values: Vec<f32>| -> Result<Tensor> {
        Ok(Tensor::f_from_slice(&values)?.f_unsqueeze(1)?.f_to_device(device)?)
    };
    let mut logits = match mask {
        Some(mask) => logits.f_masked_fill(mask, f64::NEG_INFINITY)?,
        None => logits.shallow_clone(),
    };
    // Greedy rows keep temperature 1: only their order matters.
    let temperature = |draw: &Draw<'_>| {
        if draw.sampling.temperature == 0.0 {
            1.0
        } else {
            (draw.sampling.temperature as f32).clamp(LOWEST_TEMPERATURE, f32::MAX)
        }
    };
    if draws.iter().any(|draw| temperature(draw) != 1.0) {
        logits = logits.f_div(&column(draws.iter().map(temperature).collect())?)?;
    }
    let bounded = |k: u32| {
        if k == 0 {
            vocabulary
        } else {
            i64::from(k).min(vocabulary)
        }
    };
    if draws
        .iter()
        .any(|draw| draw.sampling.top_k != 0 || draw.sampling.top_p < 1.0)
    {
        let (sorted, _) = logits.f_sort(-1, true)?;
        let last: Vec<i64> = draws.iter().map(|draw| bounded(draw.sampling.top_k) - 1).collect();
        let last = Tensor::f_from_slice(&last)?.f_unsqueeze(1)?.f_to_device(device)?;
        let smallest = sorted.f_gather(1, &last, false)?;
        let sorted = sorted.f_masked_fill(&sorted.f_lt_tensor(&smallest)?, f64::NEG_INFINITY)?;
        let probabilities = sorted.f_softmax(-1, Kind::Float)?;
        let before = probabilities.f_cumsum(-1, Kind::Float)?.f_sub(&probabilities)?;
        let cut = before.f_ge_tensor(&column(draws.iter().map(|draw| draw.sampling.top_p as f32).collect())?)?;
        // Rounding may let the sum reach 1 early; rows without top-p are not cut.
        let active: Vec<bool> = draws.iter().map(|draw| draw.sampling.top_p < 1.0).collect();
        let cut = cut.f_logical_and(&Tensor::f_from_slice(&active)?.f_unsqueeze(1)?.f_to_device(device)?)?;
        let kept = sorted.f_masked_fill(&cut, f64::INFINITY)?;
        let kept = kept.f_masked_fill(&kept.f_eq(f64::NEG_INFINITY)?, f64::INFINITY)?;
        let smallest = kept.f_amin([-1], true)?;
        logits = logits.f_masked_fill(&logits.f_lt_tensor(&smallest)?, f64::NEG_INFINITY)?;
    }
    Ok(logits.f_log_softmax(-1, Kind::Float)?)
}
