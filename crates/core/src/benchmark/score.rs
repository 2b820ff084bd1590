//! The score of one subject on one suite.

use serde::{Deserialize, Serialize};

use super::{Spread, pass_at_k};

/// Counts of samples and of correct ones by row, enough to compute pass@k for any k.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Samples of each row.
    pub samples: Vec<u32>,
    /// How many of them are correct.
    pub correct: Vec<u32>,
}

/// A point of a pass@k curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Samples drawn.
    pub k: u32,
    /// Mean of pass@k over the rows.
    pub pass_at_k: f64,
    /// Its standard error over the rows.
    pub standard_error: f64,
}

impl Score {
    /// A score of `rows` rows without samples.
    pub fn of_rows(rows: usize) -> Self {
        Self {
            samples: vec![0; rows],
            correct: vec![0; rows],
        }
    }

    /// Counts a sample of a row; ignored if there is no such row.
    pub fn count(&mut self, row: usize, is_correct: bool) {
        if let (Some(samples), Some(correct)) = (self.samples.get_mut(row), self.correct.get_mut(row)) {
            *samples += 1;
            *correct += u32::from(is_correct);
        }
    }

    /// The mean of pass@k over all rows, with its spread. A row without samples counts as unsolved. `None` if a row has
    /// some samples but fewer than `k`, or if there are no samples at all.
    pub fn pass_at_k(&self, k: u32) -> Option<Spread> {
        Spread::of(&self.each(k)?)
    }

    /// pass@k of each row, under the same conditions.
    pub fn each(&self, k: u32) -> Option<Vec<f64>> {
        if self.samples.iter().all(|&samples| samples == 0) {
            return None;
        }
        let each = self.samples.iter().zip(&self.correct).map(|(&n, &c)| match n {
            0 => Some(0.0),
            _ => pass_at_k(u64::from(n), u64::from(c), u64::from(k)),
        });
        each.collect()
    }

    /// The mean over subjects of pass@k, row by row, as far as all were asked; `None` without subjects, or if one has no
    /// pass@k. Subjects answer the same rows, so the error of their mean is that over these.
    pub fn mean_by_row(scores: &[Self], k: u32) -> Option<Vec<f64>> {
        let each = scores
            .iter()
            .map(|score| score.each(k))
            .collect::<Option<Vec<Vec<f64>>>>()?;
        let rows = each.iter().map(Vec::len).min()?;
        let over_subjects = |row: usize| each.iter().map(|own| own[row]).sum::<f64>() / each.len() as f64;
        Some((0..rows).map(over_subjects).collect())
    }

    /// The largest k with an estimate: the lowest sample count among rows that have samples.
    pub fn largest_k(&self) -> u32 {
        self.samples
            .iter()
            .copied()
            .filter(|&samples| samples > 0)
            .min()
            .unwrap_or(0)
    }

    /// pass@k for k = 1, 2, 5, 10, 20, 50, … and the largest k with an estimate.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let largest = self.largest_k();
        let mut ks: Vec<u32> = (0..9)
            .flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u32.pow(power)))
            .take_while(|&k| k < largest)
            .collect();
        ks.extend((largest > 0).then_some(largest));
        let point = |k| {
            self.pass_at_k(k).map(|spread| CurvePoint {
                k,
                pass_at_k: spread.mean,
                standard_error: spread.standard_error,
            })
        };
        ks.into_iter().filter_map(point).collect()
    }

    /// Rows with a correct sample.
    pub fn solved(&self) -> u64 {
        self.correct.iter().filter(|&&correct| correct > 0).count() as u64
    }

    /// All samples.
    pub fn total_samples(&self) -> u64 {
        self.samples.iter().map(|&samples| u64::from(samples)).sum()
    }

    /// All correct samples.
    pub fn total_correct(&self) -> u64 {
        self.correct.iter().map(|&correct| u64::from(correct)).sum()
    }

    /// The mean over repeats of each repeat's share of correct rows, with the standard error over repeats, from
    /// `verdicts[row][repeat]`. `None` if rows have different numbers of repeats.
    pub fn over_repeats(verdicts: &[Vec<bool>]) -> Option<Spread> {
        let repeats = verdicts.first()?.len();
        if verdicts.iter().any(|row| row.len() != repeats) {
            return None;
        }
        let share = |repeat: usize| verdicts.iter().filter(|row| row[repeat]).count() as f64 / verdicts.len() as f64;
        Spread::of(&(0..repeats).map(share).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score() -> Score {
        let mut score = Score::of_rows(3);
        for (row, is_correct) in [
            (0, true),
            (0, false),
            (0, false),
            (1, true),
            (1, true),
            (1, true),
            (9, true),
        ] {
            score.count(row, is_correct);
        }
        score
    }

    #[test]
    fn a_row_without_samples_is_unsolved_and_k_goes_as_far_as_samples_do() {
        let score = score();
        assert_eq!(
            (score.total_samples(), score.total_correct(), score.solved()),
            (6, 4, 2)
        );
        let first = score.pass_at_k(1).unwrap();
        assert!((first.mean - (1.0 / 3.0 + 1.0 + 0.0) / 3.0).abs() < 1e-15);
        assert_eq!(score.pass_at_k(3).unwrap().mean, 2.0 / 3.0);
        assert_eq!(score.pass_at_k(4), None);
        assert_eq!(score.curve().iter().map(|point| point.k).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(Score::of_rows(2).pass_at_k(1), None);
        assert!(Score::of_rows(2).curve().is_empty());
    }

    #[test]
    fn subjects_are_averaged_row_by_row() {
        let of = |correct: &[u32]| Score {
            samples: vec![2; correct.len()],
            correct: correct.to_vec(),
        };
        let both = Score::mean_by_row(&[of(&[2, 1, 0]), of(&[2, 0])], 1);
        assert_eq!(both, Some(vec![1.0, 0.25]), "the third row was not asked of both");
        assert_eq!(Score::mean_by_row(&[of(&[2]), of(&[1])], 3), None);
        assert_eq!(Score::mean_by_row(&[], 1), None);
    }

    #[test]
    fn repeats_are_whole_passes_over_the_rows() {
        let spread = Score::over_repeats(&[vec![true, false], vec![true, true]]).unwrap();
        assert_eq!((spread.mean, spread.count), (0.75, 2));
        assert!((spread.standard_error - 0.25).abs() < 1e-15);
        assert_eq!(Score::over_repeats(&[vec![true], vec![true, false]]), None);
    }
}
