//! Pass rates, and the share of a parent's gain that a child has.

use serde::{Deserialize, Serialize};

use crate::benchmark::Spread;

/// Correct answers to some rows, each answered equally often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCounts {
    /// Answers to each row.
    pub n: u32,
    /// How many of them are correct, by row.
    pub correct: Vec<u32>,
}

/// A mean over rows of the share of correct answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassRate {
    /// The mean, from 0 to 1.
    pub pass_rate: f64,
    /// Its standard error over rows.
    pub standard_error: f64,
}

/// The share of a parent's gain over the base that a child has: R = (child − base) / (parent − base), of pass rates on
/// the parent's task. The base is at 0, the parent at 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The share.
    pub value: f64,
    /// Its standard error over rows, by the delta method; all three answer the same rows, which are compared in pairs.
    pub standard_error: f64,
}

/// How many standard errors below its parent a child counts as equal to it. A parent must be as many above the base.
const WITHIN: f64 = 2.0;

impl RowCounts {
    /// No correct answer to any of `rows` rows, of `n` each.
    pub fn none(rows: usize, n: u32) -> Self {
        Self { n, correct: vec![0; rows] }
    }

    /// The answers of several members to the same rows, together.
    pub fn sum<'c>(members: impl IntoIterator<Item = &'c Self>) -> Self {
        let mut sum = Self::default();
        for counts in members {
            sum.n += counts.n;
            sum.correct.resize(counts.correct.len().max(sum.correct.len()), 0);
            for (all, own) in sum.correct.iter_mut().zip(&counts.correct) {
                *all += own;
            }
        }
        sum
    }

    /// The share of correct answers; 0 without rows.
    pub fn rate(&self) -> PassRate {
        let spread = Spread::of(&self.rates());
        PassRate {
            pass_rate: spread.map_or(0.0, |spread| spread.mean),
            standard_error: spread.map_or(0.0, |spread| spread.standard_error),
        }
    }

    fn rates(&self) -> Vec<f64> {
        let n = f64::from(self.n.max(1));
        self.correct.iter().map(|&correct| f64::from(correct) / n).collect()
    }
}

impl Recovery {
    /// The recovery of a child. `None` if the parent's pass rate is not above the base's by two standard errors: then
    /// there is nothing that a child could lose.
    pub fn of(child: &RowCounts, parent: &RowCounts, base: &RowCounts) -> Option<Self> {
        let bases = base.rates();
        let above_base = |counts: &RowCounts| -> Vec<f64> {
            let rates = counts.rates();
            rates.iter().zip(&bases).map(|(rate, base)| rate - base).collect()
        };
        let (gains, gaps) = (above_base(child), above_base(parent));
        let gap = Spread::of(&gaps).filter(|gap| gap.mean > WITHIN * gap.standard_error)?;
        let value = Spread::of(&gains)?.mean / gap.mean;
        let residuals: Vec<f64> = gains.iter().zip(&gaps).map(|(gain, gap)| gain - value * gap).collect();
        Some(Self { value, standard_error: Spread::of(&residuals)?.standard_error / gap.mean })
    }

    /// Whether the child is at its parent's level: above it, or less than two standard errors below.
    pub fn is_recovered(&self) -> bool {
        self.value + WITHIN * self.standard_error >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(n: u32, correct: &[u32]) -> RowCounts {
        RowCounts { n, correct: correct.to_vec() }
    }

    /// By Python's `statistics`, with `gap` and `gain` the differences of the shares to the base's:
    /// `e = [g - R * h for g, h in zip(gain, gap)]; stdev(e) / len(e) ** 0.5 / mean(gap)`.
    #[test]
    fn recovery_equals_pythons() {
        let base = counts(4, &[0, 1, 0, 2, 1, 0, 0, 1]);
        let parent = counts(4, &[3, 4, 2, 4, 2, 3, 0, 4]);
        let child = counts(4, &[2, 4, 1, 3, 2, 1, 0, 2]);
        let recovery = Recovery::of(&child, &parent, &base).unwrap();
        assert!((recovery.value - 0.588_235_294_117_647_1).abs() < 1e-12, "{recovery:?}");
        assert!((recovery.standard_error - 0.108_605_486_069_081_23).abs() < 1e-12, "{recovery:?}");
        assert!(!recovery.is_recovered());
        let rate = parent.rate();
        assert!((rate.pass_rate - 0.6875).abs() < 1e-12);
        assert!((rate.standard_error - 0.122_747_563_257_745_7).abs() < 1e-12, "{rate:?}");
    }

    #[test]
    fn without_a_gap_nothing_can_be_lost() {
        let base = counts(2, &[1, 1, 0, 2]);
        assert_eq!(Recovery::of(&base, &base, &base), None);
        let barely = counts(2, &[2, 1, 0, 2]);
        assert_eq!(Recovery::of(&barely, &barely, &base), None, "one answer more is chance");
        assert_eq!(Recovery::of(&RowCounts::default(), &RowCounts::default(), &RowCounts::default()), None);
    }

    #[test]
    fn answers_of_several_seeds_count_together() {
        let sum = RowCounts::sum([&counts(2, &[0, 2]), &counts(2, &[1, 2])]);
        assert_eq!(sum, counts(4, &[1, 4]));
    }

    fn rows() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0_u32..=4, 0_u32..=4), 2..40)
    }

    proptest! {
        #[test]
        fn a_copy_has_recovered_all_and_the_base_nothing(rows in rows()) {
            let parent = counts(4, &rows.iter().map(|row| row.0).collect::<Vec<_>>());
            let base = counts(4, &rows.iter().map(|row| row.1).collect::<Vec<_>>());
            if let Some(copy) = Recovery::of(&parent, &parent, &base) {
                prop_assert_eq!((copy.value, copy.standard_error), (1.0, 0.0));
                prop_assert!(copy.is_recovered());
                let reset = Recovery::of(&base, &parent, &base).unwrap();
                prop_assert_eq!((reset.value, reset.standard_error), (0.0, 0.0));
                prop_assert!(!reset.is_recovered());
            }
        }
    }
}
