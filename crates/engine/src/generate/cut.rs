//! Where top-k and top-p cut the distribution.

use std::cell::Cell;

use tch::{Kind, Tensor};

use crate::error::Result;

/// Candidates beyond the largest top-k, so that tokens that tie with the last one kept are among them.
const TIES: i64 = 64;

/// How many of the most probable tokens are sorted at first. Sorting a whole vocabulary of 150,000 for every token would cost
/// more than the rest of the step.
const FIRST: i64 = 1024;

/// Only vocabularies of at least this multiple of the candidates are worth it.
const FEW: i64 = 8;

/// The number of candidates that a batch sorts; it grows when they turn out to be too few for a top-p.
#[derive(Debug)]
pub(super) struct Candidates(Cell<i64>);

impl Default for Candidates {
    fn default() -> Self {
        Self(Cell::new(FIRST))
    }
}

impl Candidates {
    /// How many to sort of a vocabulary, if that is few; `widest` is the largest top-k.
    pub(super) fn among(&self, vocabulary: i64, widest: i64) -> Option<i64> {
        let few = self.0.get().max(widest + TIES);
        (few.saturating_mul(FEW) <= vocabulary).then_some(few)
    }

    /// Sorts more from now on.
    pub(super) fn widen(&self) {
        self.0.set(self.0.get().saturating_mul(4));
    }
}

/// The smallest of `logits` `[rows, vocab_size]` that is kept in each row, `[rows, 1]`, with all of them sorted. `last`
/// `[rows, 1]` is the index of the last one that top-k keeps, `top_p` `[rows, 1]` infinite for rows without. Works in place and
/// lets go early, since each step has the size of all logits.
pub(super) fn among_all(logits: &Tensor, last: &Tensor, top_p: &Tensor) -> Result<Tensor> {
    let (sorted, _) = logits.f_sort(-1, true)?;
    let smallest = sorted.f_gather(1, last, false)?;
    let sorted = excluded(sorted, |sorted| sorted.f_lt_tensor(&smallest), f64::NEG_INFINITY)?;
    let before = before(sorted.f_softmax(-1, Kind::Float)?)?;
    let cut = before.f_ge_tensor(top_p)?;
    drop(before);
    smallest_kept(&sorted, &cut)
}

/// The sum of the probabilities before each.
fn before(probabilities: Tensor) -> Result<Tensor> {
    let mut sums = probabilities.f_cumsum(-1, Kind::Float)?;
    Ok(sums.f_sub_(&probabilities)?)
}

/// `numbers` with `value` where `which` says so.
fn excluded(
    mut numbers: Tensor,
    which: impl FnOnce(&Tensor) -> std::result::Result<Tensor, tch::TchError>,
    value: f64,
) -> Result<Tensor> {
    let which = which(&numbers)?;
    Ok(numbers.f_masked_fill_(&which, value)?)
}

/// The same with only the `few` largest sorted, which is more than `last` of any row with top-k; and for each row 1 if more
/// than these may be kept, so that the answer is wrong, else 0, `[rows, 1]`.
pub(super) fn among(logits: &Tensor, last: &Tensor, top_p: &Tensor, few: i64) -> Result<(Tensor, Tensor)> {
    let (sorted, _) = logits.f_topk(few, -1, true, true)?;
    let beyond = last.f_ge(few)?;
    let bound = sorted.f_gather(1, &last.f_clamp_max(few - 1)?, false)?.f_masked_fill(&beyond, f64::NEG_INFINITY)?;
    // Ties with the last one that top-k keeps need not be among the candidates, but count.
    let total = logits.f_masked_fill(&logits.f_lt_tensor(&bound)?, f64::NEG_INFINITY)?.f_logsumexp([-1], true)?;
    let sorted = excluded(sorted, |sorted| sorted.f_lt_tensor(&bound), f64::NEG_INFINITY)?;
    let probabilities = sorted.f_sub(&total)?.f_exp()?;
    let cut = before(probabilities)?.f_ge_tensor(top_p)?;
    let is_cut = cut.f_any_dim(-1, true)?;
    let smallest = smallest_kept(&sorted, &cut)?.f_where_self(&is_cut, &bound)?;
    // Top-p would cut further on, among what was not sorted and top-k keeps.
    let goes_on = sorted.f_narrow(1, few - 1, 1)?.f_ne(f64::NEG_INFINITY)?;
    let lacking = goes_on.f_logical_and(&is_cut.f_logical_not()?)?.f_logical_and(&top_p.f_isfinite()?)?;
    Ok((smallest, lacking))
}

/// The smallest of `sorted` that is neither `cut` nor excluded already.
fn smallest_kept(sorted: &Tensor, cut: &Tensor) -> Result<Tensor> {
    let kept = sorted.f_masked_fill(cut, f64::INFINITY)?;
    let kept = excluded(kept, |kept| kept.f_eq(f64::NEG_INFINITY), f64::INFINITY)?;
    Ok(kept.f_amin([-1], true)?)
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    const VOCABULARY: i64 = 20_000;

    /// Rows of logits, from peaked to flat, and one with many ties.
    fn logits() -> Tensor {
        // In double precision, so that only the last row has ties.
        let places = Tensor::arange(6 * VOCABULARY, (Kind::Double, Device::Cpu)).view([6, VOCABULARY]);
        let noise = (places * 12.9898).sin() * 43_758.547;
        let noise = (&noise - noise.floor()).to_kind(Kind::Float);
        let spread = Tensor::from_slice(&[12.0f32, 6.0, 3.0, 1.0, 0.1, 4.0]).view([6, 1]);
        let logits = noise * spread;
        let coarse = (logits.narrow(0, 5, 1) * 4.0).round() / 4.0;
        Tensor::cat(&[logits.narrow(0, 0, 5), coarse], 0)
    }

    fn kept(logits: &Tensor, smallest: &Tensor) -> Vec<i64> {
        let counts = logits.ge_tensor(smallest).to_kind(Kind::Int64);
        Vec::try_from(counts.sum_dim_intlist([-1i64].as_slice(), false, Kind::Int64)).unwrap()
    }

    #[test]
    fn candidates_are_cut_as_the_whole_vocabulary_is_or_say_that_they_are_too_few() {
        let logits = logits();
        let mut lacked = 0;
        for (k, top_p) in
            [(0, 0.1), (0, 0.5), (0, 0.95), (0, 0.999), (1, 0.3), (40, 0.95), (40, f64::INFINITY), (900, 0.2)]
        {
            let last = if k == 0 { VOCABULARY - 1 } else { k - 1 };
            let last = Tensor::full([6, 1], last, (Kind::Int64, Device::Cpu));
            let top_p = Tensor::full([6, 1], top_p, (Kind::Float, Device::Cpu));
            let all = kept(&logits, &among_all(&logits, &last, &top_p).unwrap());
            let (smallest, lacking) = among(&logits, &last, &top_p, FIRST).unwrap();
            let lacking: Vec<bool> = Vec::try_from(lacking.view([-1])).unwrap();
            let few = kept(&logits, &smallest);
            for (row, ((lacking, all), few)) in lacking.into_iter().zip(all).zip(few).enumerate() {
                // Only if more tokens are kept than were sorted.
                let too_many = all > FIRST && top_p.double_value(&[0, 0]) < 1.0;
                assert_eq!(lacking, too_many, "row {row}, top-k {k}");
                lacked += usize::from(lacking);
                assert!(lacking || few == all, "row {row}, top-k {k}: {few}, {all}");
            }
        }
        assert!(lacked > 0 && lacked < 24, "both happen: {lacked}");
    }

    #[test]
    fn rows_without_a_cut_keep_everything() {
        let logits = logits();
        let last = Tensor::full([6, 1], VOCABULARY - 1, (Kind::Int64, Device::Cpu));
        let top_p = Tensor::full([6, 1], f64::INFINITY, (Kind::Float, Device::Cpu));
        let (smallest, lacking) = among(&logits, &last, &top_p, FIRST).unwrap();
        assert_eq!(kept(&logits, &smallest), [VOCABULARY; 6]);
        assert_eq!(lacking.any().int64_value(&[]), 0);
    }

    #[test]
    fn small_vocabularies_are_sorted_whole_and_the_number_grows_until_they_are() {
        let candidates = Candidates::default();
        assert_eq!(candidates.among(416, 0), None);
        assert_eq!(candidates.among(152_064, 40), Some(FIRST));
        assert_eq!(candidates.among(152_064, 2000), Some(2064));
        candidates.widen();
        assert_eq!(candidates.among(152_064, 0), Some(4 * FIRST));
        for _ in 0..40 {
            candidates.widen();
        }
        assert_eq!(candidates.among(152_064, 0), None);
    }
}
