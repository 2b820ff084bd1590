//! From logits to tokens, for all rows of a batch at once.

use lyceum_core::work::Sampling;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tch::{Device, Kind, Tensor};

use super::cut::{self, Candidates};
use super::upload::{Indices, Numbers, Upload, Uploaded};
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

    /// Greedy rows keep temperature 1: only their order matters.
    fn temperature(&self) -> f32 {
        if self.sampling.temperature == 0.0 {
            1.0
        } else {
            (self.sampling.temperature as f32).clamp(LOWEST_TEMPERATURE, f32::MAX)
        }
    }

    fn is_cut(&self) -> bool {
        self.sampling.top_k != 0 || self.sampling.top_p < 1.0
    }

    fn is_plain(&self) -> bool {
        self.sampling.temperature == 1.0 && self.sampling.top_k == 0 && self.sampling.top_p == 1.0
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

/// What drawing needs on the device, in the step's upload. `None` where no row of the batch has use for it.
#[derive(Debug)]
pub(super) struct DrawParts {
    uniform: Option<Numbers>,
    /// 1 for greedy rows.
    greedy: Option<Numbers>,
    temperature: Option<Numbers>,
    /// Index of the last token that top-k keeps.
    last: Option<Indices>,
    /// Infinite for rows without top-p.
    top_p: Option<Numbers>,
    /// The largest top-k of the batch.
    widest: i64,
    /// Whether no row changes the model's own distribution.
    plain: bool,
}

impl DrawParts {
    pub(super) fn add(draws: &[Draw<'_>], vocabulary: i64, upload: &mut Upload) -> Self {
        let mut numbers = |of: &dyn Fn(&Draw<'_>) -> f32| upload.numbers(&draws.iter().map(of).collect::<Vec<f32>>());
        let is_greedy = |draw: &Draw<'_>| draw.sampling.temperature == 0.0;
        let greedy = draws.iter().filter(|draw| is_greedy(draw)).count();
        let uniform = (greedy < draws.len()).then(|| numbers(&|draw| draw.uniform()));
        let some = greedy > 0 && greedy < draws.len();
        let greedy = some.then(|| numbers(&|draw| f32::from(u8::from(is_greedy(draw)))));
        let heated = draws.iter().any(|draw| draw.temperature() != 1.0);
        let temperature = heated.then(|| numbers(&|draw| draw.temperature()));
        let cut = draws.iter().any(Draw::is_cut);
        // Rounding may let the sum reach 1 early; rows without top-p are not cut.
        let top_p = cut.then(|| {
            numbers(&|draw| if draw.sampling.top_p < 1.0 { draw.sampling.top_p as f32 } else { f32::INFINITY })
        });
        let bounded = |draw: &Draw<'_>| match draw.sampling.top_k {
            0 => vocabulary,
            k => i64::from(k).min(vocabulary),
        };
        let last = cut.then(|| upload.indices(&draws.iter().map(|draw| bounded(draw) - 1).collect::<Vec<_>>()));
        let limited = draws.iter().filter(|draw| draw.sampling.top_k != 0);
        Self {
            uniform,
            greedy,
            temperature,
            last,
            top_p,
            widest: limited.map(bounded).max().unwrap_or(0),
            plain: draws.iter().all(Draw::is_plain),
        }
    }
}

/// Tokens from which on a GPU finds a row's token in two steps, and the tokens of a block (152,064 tokens in 64 rows take an H100
/// 243 µs in one step).
const LARGE: i64 = 8192;
const BLOCK: i64 = 128;

/// Draws one token per row of `logits` `[rows, vocab_size]` (fp32) by inverting the cumulative distribution. `mask`
/// `[vocab_size]` is true for ids that must not be drawn.
pub(super) fn draw(
    logits: &Tensor,
    mask: Option<&Tensor>,
    draws: &[Draw<'_>],
    (parts, uploaded): (&DrawParts, &Uploaded),
    candidates: &Candidates,
) -> Result<Vec<Drawn>> {
    let logprobs = logits.f_log_softmax(-1, Kind::Float)?;
    let probabilities = logprobs.f_exp()?;
    // One dot product per row, without a tensor of all terms.
    let entropies = probabilities.f_unsqueeze(1)?.f_bmm(&logprobs.f_unsqueeze(2)?)?.f_neg()?;
    // Each takes as much memory as the logits: where others are drawn from, these go before those are made.
    let probabilities = (mask.is_none() && parts.plain).then_some(probabilities);
    let rows = loop {
        let (distribution, chosen, lacking) = match &probabilities {
            Some(probabilities) => {
                let chosen = choose(&logprobs, probabilities, parts, uploaded)?;
                (logprobs.shallow_clone(), chosen, None)
            }
            None => {
                let (distribution, lacking) = process(logits, mask, (parts, uploaded), candidates)?;
                let chosen = choose(&distribution, &distribution.f_exp()?, parts, uploaded)?;
                (distribution, chosen, lacking)
            }
        };
        let mut columns = vec![
            chosen.f_to_kind(Kind::Double)?,
            logprobs.f_gather(1, &chosen, false)?.f_to_kind(Kind::Double)?,
            distribution.f_gather(1, &chosen, false)?.f_to_kind(Kind::Double)?,
            entropies.f_squeeze_dim(2)?.f_to_kind(Kind::Double)?,
        ];
        let among_candidates = lacking.is_some();
        columns.extend(lacking.map(|lacking| lacking.f_to_kind(Kind::Double)).transpose()?);
        let width = columns.len();
        // One transfer for all values; ids are exact in a double.
        let drawn = Tensor::f_cat(&columns, 1)?.f_to_device(Device::Cpu)?;
        let rows: Vec<f64> = Vec::try_from(drawn.f_contiguous()?.f_view([-1])?)?;
        if among_candidates && rows.chunks_exact(width).any(|row| row[4] != 0.0) {
            candidates.widen();
            continue;
        }
        break rows.chunks_exact(width).map(|row| [row[0], row[1], row[2], row[3]]).collect::<Vec<_>>();
    };
    rows.into_iter()
        .zip(draws)
        .map(|([id, logprob, sampling_logprob, entropy], draw)| {
            if !logprob.is_finite() || sampling_logprob.is_nan() {
                return Err(EngineError::NonFinite {
                    what: format!("a log-probability of the model's output for request `{}`", draw.request),
                });
            }
            let greedy = draw.sampling.temperature == 0.0;
            let sampling_logprob = if greedy { 0.0 } else { sampling_logprob as f32 };
            Ok(Drawn { id: id as i64, logprob: logprob as f32, sampling_logprob, entropy: entropy as f32 })
        })
        .collect()
}

fn choose(distribution: &Tensor, probabilities: &Tensor, parts: &DrawParts, uploaded: &Uploaded) -> Result<Tensor> {
    let Some(uniform) = parts.uniform else { return Ok(distribution.f_argmax(-1, true)?) };
    let uniform = uploaded.column(uniform)?;
    let vocabulary = probabilities.size()[1];
    let in_blocks = probabilities.device().is_cuda() && vocabulary >= LARGE && vocabulary % BLOCK == 0;
    let sampled =
        if in_blocks { inverted_in_blocks(probabilities, &uniform)? } else { inverted(probabilities, &uniform)? };
    if let Some(greedy) = parts.greedy {
        let greedy = uploaded.column(greedy)?.f_to_kind(Kind::Bool)?;
        return Ok(distribution.f_argmax(-1, true)?.f_where_self(&greedy, &sampled)?);
    }
    Ok(sampled)
}

/// For each row of `probabilities` `[rows, vocab_size]` the token at which their sum passes the share `uniform` `[rows, 1]`, below 1,
/// of all.
fn inverted(probabilities: &Tensor, uniform: &Tensor) -> Result<Tensor> {
    let (rows, vocabulary) = probabilities.size2()?;
    let cumulative = probabilities.f_cumsum(-1, kind_of_sums(probabilities.device(), rows))?;
    // Rounding keeps the sum from being exactly 1. Scaling by it keeps the search within the possible tokens.
    let total = cumulative.f_narrow(1, vocabulary - 1, 1)?;
    passed(&cumulative, &uniform.f_mul(&total)?)
}

/// The same in two steps, of which the first finds the block of tokens: a GPU sums up a long row slowly.
fn inverted_in_blocks(probabilities: &Tensor, uniform: &Tensor) -> Result<Tensor> {
    let rows = probabilities.size()[0];
    let blocks = probabilities.f_view([rows, -1, BLOCK])?;
    let sums = blocks.f_sum_dim_intlist(Some(&[2i64][..]), false, Kind::Double)?;
    let ends = sums.f_cumsum(1, Kind::Double)?;
    let target = uniform.f_mul(&ends.f_narrow(1, ends.size()[1] - 1, 1)?)?;
    let block = passed(&ends, &target)?;
    let start = ends.f_gather(1, &block, false)?.f_sub(&sums.f_gather(1, &block, false)?)?;
    let places = block.f_unsqueeze(2)?.f_expand([rows, 1, BLOCK], false)?;
    let within = blocks.f_gather(1, &places, false)?.f_squeeze_dim(1)?.f_cumsum(1, Kind::Double)?;
    // Rounding must not lead out of the block, nor to its last token if that is impossible.
    let most = within.f_narrow(1, BLOCK - 1, 1)?.f_mul_scalar(1.0 - f64::EPSILON)?;
    let rest = target.f_sub(&start)?.f_clamp_min(0.0)?.f_minimum(&most)?;
    Ok(block.f_mul_scalar(BLOCK)?.f_add(&passed(&within, &rest)?)?)
}

/// For each row of `sums` the first place at which they exceed `target` `[rows, 1]`.
fn passed(sums: &Tensor, target: &Tensor) -> Result<Tensor> {
    let places = target.f_searchsorted(sums, false, true, "right", None::<&Tensor>)?;
    // Behind the last place are only rows that hold NaN. They must name a token, or reading its probability would end the
    // process on a GPU; that probability is NaN, too, and names the request.
    Ok(places.f_clamp_max(sums.size()[1] - 1)?)
}

/// The numbers in which probabilities are summed up. On a GPU libtorch adds those of a single row in blocks, so that in fp32
/// the sum can grow a little at a token of probability 0, which could then be drawn.
fn kind_of_sums(device: Device, rows: i64) -> Kind {
    if device.is_cuda() && rows == 1 { Kind::Double } else { Kind::Float }
}

/// Log-probabilities after mask, temperature, top-k and top-p; excluded tokens are at minus infinity. If only candidates
/// were sorted, also which rows, `[rows, 1]`, may keep tokens that are not among them.
fn process(
    logits: &Tensor,
    mask: Option<&Tensor>,
    (parts, uploaded): (&DrawParts, &Uploaded),
    candidates: &Candidates,
) -> Result<(Tensor, Option<Tensor>)> {
    let mut logits = match mask {
        Some(mask) => logits.f_masked_fill(mask, f64::NEG_INFINITY)?,
        None => logits.shallow_clone(),
    };
    if let Some(temperature) = parts.temperature {
        logits = logits.f_div(&uploaded.column(temperature)?)?;
    }
    let mut lacking = None;
    if let (Some(last), Some(top_p)) = (parts.last, parts.top_p) {
        let last = uploaded.indices(last)?.f_unsqueeze(1)?;
        let top_p = uploaded.column(top_p)?;
        let few = candidates.among(logits.size()[1], parts.widest);
        let (smallest, lack) = match few {
            Some(few) => {
                let (smallest, lacking) = cut::among(&logits, &last, &top_p, few)?;
                (smallest, Some(lacking))
            }
            None => (cut::among_all(&logits, &last, &top_p)?, None),
        };
        lacking = lack;
        logits = logits.f_masked_fill(&logits.f_lt_tensor(&smallest)?, f64::NEG_INFINITY)?;
    }
    Ok((logits.f_log_softmax(-1, Kind::Float)?, lacking))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lead_to_the_same_tokens_and_never_to_an_impossible_one() {
        let (rows, blocks) = (200i64, 5);
        tch::manual_seed(5);
        let probabilities = Tensor::rand([rows, blocks * BLOCK], (Kind::Float, Device::Cpu)).pow_tensor_scalar(8.0);
        // Whole blocks are impossible, and the ends of all.
        let _ = probabilities.narrow(1, 0, BLOCK).zero_();
        let _ = probabilities.narrow(1, 3 * BLOCK, BLOCK).zero_();
        let _ = probabilities.view([rows, blocks, BLOCK]).narrow(2, BLOCK - 3, 3).zero_();
        let uniform = Tensor::rand([rows, 1], (Kind::Float, Device::Cpu));
        let _ = uniform.narrow(0, 0, 50).fill_(0.0);
        let _ = uniform.narrow(0, 50, 50).fill_(1.0 - f64::from(f32::EPSILON) / 2.0);
        let found = inverted_in_blocks(&probabilities, &uniform).unwrap();
        assert!(probabilities.gather(1, &found, false).min().double_value(&[]) > 0.0);
        // Two ways of rounding may lead to neighbours.
        let expected = inverted(&probabilities.to_kind(Kind::Double), &uniform.to_kind(Kind::Double)).unwrap();
        let other = found.ne_tensor(&expected).sum(Kind::Int64).int64_value(&[]);
        assert!(other <= 1, "{other} differ");
    }

    #[test]
    fn only_the_sums_of_a_single_row_on_a_gpu_are_made_in_fp64() {
        for (device, rows, kind) in [
            (Device::Cpu, 1, Kind::Float),
            (Device::Cpu, 8, Kind::Float),
            (Device::Cuda(0), 8, Kind::Float),
            (Device::Cuda(0), 1, Kind::Double),
        ] {
            assert_eq!(kind_of_sums(device, rows), kind, "{rows} on {device:?}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_drawn_from_names_its_request() {
        let sampling = Sampling::default();
        let draws =
            ["good", "bad"].map(|request| Draw { request, sampling: &sampling, seed: 1, sample: 0, position: 0 });
        let drawn = |logits: &Tensor, mask: Option<&Tensor>, draws: &[Draw<'_>]| {
            let mut upload = Upload::default();
            let parts = DrawParts::add(draws, logits.size()[1], &mut upload);
            let uploaded = upload.send(Device::Cpu).unwrap();
            draw(logits, mask, draws, (&parts, &uploaded), &Candidates::default())
        };
        let logits = Tensor::from_slice(&[0.0f32, 1.0, 2.0, f32::NAN, 1.0, 2.0]).view([2, 3]);
        let error = drawn(&logits, None, &draws).unwrap_err().to_string();
        assert!(error.contains("`bad`"), "{error}");
        let all = Tensor::from_slice(&[true; 3]);
        let error = drawn(&logits.narrow(0, 0, 1), Some(&all), &draws[..1]).unwrap_err().to_string();
        assert!(error.contains("`good`"), "{error}");
    }
}
