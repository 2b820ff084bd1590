//! The score of one subject on one suite.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Cell, Subject, SuiteChoice};

/// Counts of samples and of correct ones by row, enough to compute pass@k for any k.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Samples of each row.
    pub samples: Vec<u32>,
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
        Self { samples: vec![0; rows], correct: vec![0; rows] }
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
        let each = scores.iter().map(|score| score.each(k)).collect::<Option<Vec<Vec<f64>>>>()?;
        let rows = each.iter().map(Vec::len).min()?;
        let over_subjects = |row: usize| each.iter().map(|own| own[row]).sum::<f64>() / each.len() as f64;
        Some((0..rows).map(over_subjects).collect())
    }

    /// The largest k with an estimate: the lowest sample count among rows that have samples.
    pub fn largest_k(&self) -> u32 {
        self.samples.iter().copied().filter(|&samples| samples > 0).min().unwrap_or(0)
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

/// The probability that at least one of `k` samples drawn without replacement from `n` is correct, if `c` of the `n`
/// are: `1 − C(n − c, k) / C(n, k)` (Chen et al., arXiv 2107.03374, Eq. 1), computed as `1 − Π_{i = n−c+1}^{n} (1 − k /
/// i)`.
///
/// `None` if undefined: no samples, `c` above `n`, or `k` outside 1 to `n`.
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if c > n || k == 0 || k > n {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    // Each factor is a quotient of exact integers, so the product is off by at most one rounding per factor. C(n−c, k)
    // / C(n, k) is symmetric in c and k, so the product with fewer factors is used.
    let (few, many) = (c.min(k), c.max(k));
    let missed: f64 = (n - few + 1..=n).map(|i| (i - many) as f64 / i as f64).product();
    Some(1.0 - missed)
}

/// Mean, deviation and standard error of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many numbers.
    pub count: u64,
    pub mean: f64,
    /// Their sample standard deviation (dividing by n − 1); 0 for a single number.
    pub std: f64,
    /// The standard error of the mean: the deviation divided by √n.
    pub standard_error: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Self {
            count: values.len() as u64,
            mean,
            std,
            standard_error: std / count.sqrt(),
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
        })
    }
}

// Scores within the distribution of the training data, and outside of it (SAGE, Tables 1 and 2).

/// Where the questions of a suite come from, seen from what a subject was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// From the distribution of the training data, such as the test split of a set whose training split was used.
    In,
    /// From elsewhere.
    Out,
}

/// Subjects down; suites in and out of distribution across, each group with its average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generalization {
    /// Suites in distribution, by the name of their results, in the order of the request.
    pub in_distribution: Vec<String>,
    /// Suites out of distribution.
    pub out_of_distribution: Vec<String>,
    /// A row for each subject, in the order of their first scores.
    pub rows: Vec<GeneralizationRow>,
}

/// What a subject scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneralizationRow {
    pub subject: Subject,
    /// Scores by suite.
    pub scores: BTreeMap<String, Cell>,
    /// The mean pass@1 over the suites in distribution; absent unless all have a score.
    pub in_average: Option<f64>,
    /// The same out of distribution.
    pub out_average: Option<f64>,
    /// The mean over all of these suites.
    pub average: Option<f64>,
}

impl Generalization {
    /// The table of `scores`, each a subject, the name of its result and its score; `None` if no suite is marked.
    pub fn of(choices: &[SuiteChoice], scores: impl IntoIterator<Item = (Subject, String, Cell)>) -> Option<Self> {
        let marked = |mark: Distribution| -> Vec<String> {
            let requests = choices.iter().map(SuiteChoice::request);
            let of_mark = requests.filter(|request| request.distribution == Some(mark));
            of_mark.map(|request| request.result_name()).collect()
        };
        let (in_distribution, out_of_distribution) = (marked(Distribution::In), marked(Distribution::Out));
        if in_distribution.is_empty() && out_of_distribution.is_empty() {
            return None;
        }
        let mut rows: Vec<GeneralizationRow> = Vec::new();
        for (subject, suite, cell) in scores {
            if !in_distribution.contains(&suite) && !out_of_distribution.contains(&suite) {
                continue;
            }
            let place = rows.iter().position(|row| row.subject == subject).unwrap_or_else(|| {
                rows.push(GeneralizationRow {
                    subject,
                    scores: BTreeMap::new(),
                    in_average: None,
                    out_average: None,
                    average: None,
                });
                rows.len() - 1
            });
            rows[place].scores.insert(suite, cell);
        }
        for row in &mut rows {
            let mean = |suites: &mut dyn Iterator<Item = &String>| -> Option<f64> {
                let scores: Option<Vec<f64>> = suites.map(|name| Some(row.scores.get(name)?.pass_at_1)).collect();
                let scores = scores.filter(|scores| !scores.is_empty())?;
                Some(scores.iter().sum::<f64>() / scores.len() as f64)
            };
            let in_average = mean(&mut in_distribution.iter());
            let out_average = mean(&mut out_of_distribution.iter());
            row.average = mean(&mut in_distribution.iter().chain(&out_of_distribution));
            (row.in_average, row.out_average) = (in_average, out_average);
        }
        Some(Self { in_distribution, out_of_distribution, rows })
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One as _, Signed as _, ToPrimitive as _};
    use proptest::prelude::*;
    use rand::Rng as _;
    use serde_json::json;

    use super::*;
    use crate::benchmark::SubjectRole;

    fn score() -> Score {
        let mut score = Score::of_rows(3);
        for (row, is_correct) in [(0, true), (0, false), (0, false), (1, true), (1, true), (1, true), (9, true)] {
            score.count(row, is_correct);
        }
        score
    }

    #[test]
    fn a_row_without_samples_is_unsolved_and_k_goes_as_far_as_samples_do() {
        let score = score();
        assert_eq!((score.total_samples(), score.total_correct(), score.solved()), (6, 4, 2));
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
        let of = |correct: &[u32]| Score { samples: vec![2; correct.len()], correct: correct.to_vec() };
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

    fn binomial(n: u64, k: u64) -> BigInt {
        let product = |from: u64| (0..k).map(|i| BigInt::from(from - i)).product::<BigInt>();
        product(n) / product(k)
    }

    /// `1 − C(n − c, k) / C(n, k)`, computed literally.
    fn exact(n: u64, c: u64, k: u64) -> BigRational {
        if n - c < k {
            return BigRational::one();
        }
        BigRational::one() - BigRational::new(binomial(n - c, k), binomial(n, k))
    }

    #[test]
    fn it_is_the_unbiased_estimator_on_a_thousand_draws() {
        let mut rng = crate::seed::stream(8, "pass@k", 0);
        for _ in 0..1000 {
            let n = rng.random_range(1..=300_u64);
            let c = rng.random_range(0..=n);
            let k = rng.random_range(1..=n);
            let exact = exact(n, c, k);
            let got = BigRational::from_float(pass_at_k(n, c, k).unwrap()).unwrap();
            let off = (got - exact).abs().to_f64().unwrap();
            assert!(off < 1e-14, "n = {n}, c = {c}, k = {k}: off by {off:e}");
        }
    }

    #[test]
    fn it_is_the_mean_over_all_ways_to_draw() {
        for (n, c, k) in [(5, 2, 1), (5, 2, 3), (6, 1, 4), (7, 0, 2), (4, 4, 2)] {
            let (mut hits, mut all) = (0_u32, 0_u32);
            for drawn in 0_u32..1 << n {
                if drawn.count_ones() == k {
                    all += 1;
                    hits += u32::from(drawn & ((1 << c) - 1) != 0);
                }
            }
            let mean = f64::from(hits) / f64::from(all);
            let got = pass_at_k(u64::from(n as u32), u64::from(c as u32), u64::from(k)).unwrap();
            assert!((got - mean).abs() < 1e-15, "{n} {c} {k}");
        }
    }

    #[test]
    fn what_has_no_estimate_has_none() {
        assert_eq!(pass_at_k(0, 0, 1), None);
        assert_eq!(pass_at_k(3, 4, 1), None);
        assert_eq!(pass_at_k(3, 1, 0), None);
        assert_eq!(pass_at_k(3, 1, 4), None);
        assert_eq!(pass_at_k(10, 0, 10), Some(0.0));
        assert_eq!(pass_at_k(10, 1, 10), Some(1.0));
    }

    #[test]
    fn numbers_computed_by_hand() {
        // statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9]) in Python is 2.138089935299395.
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.count, spread.mean, spread.min, spread.max), (8, 5.0, 2.0, 9.0));
        assert!((spread.std - 2.138_089_935_299_395).abs() < 1e-15);
        assert!((spread.standard_error - 2.138_089_935_299_395 / 8_f64.sqrt()).abs() < 1e-15);
        assert_eq!(Spread::of(&[3.0]).unwrap().standard_error, 0.0);
        assert_eq!(Spread::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_error_of_shares_is_that_of_a_binomial(right in 0_usize..50, wrong in 1_usize..50) {
            let values: Vec<f64> = std::iter::repeat_n(1.0, right).chain(std::iter::repeat_n(0.0, wrong)).collect();
            let spread = Spread::of(&values).unwrap();
            let n = values.len() as f64;
            let p = right as f64 / n;
            prop_assert!((spread.mean - p).abs() < 1e-12);
            if values.len() > 1 {
                // s² = n/(n−1) · p(1−p) for zeros and ones.
                prop_assert!((spread.standard_error - (p * (1.0 - p) / (n - 1.0)).sqrt()).abs() < 1e-12);
            }
        }
    }

    fn choices(value: serde_json::Value) -> Vec<SuiteChoice> {
        serde_json::from_value(value).unwrap()
    }

    fn scored(name: &str, suite: &str, pass_at_1: f64) -> (Subject, String, Cell) {
        let subject = Subject { name: name.to_owned(), role: SubjectRole::Member, member: None };
        let cell = Cell { pass_at_1, standard_error: 0.01 };
        (subject, suite.to_owned(), cell)
    }

    #[test]
    fn an_average_is_over_all_suites_of_its_group_or_missing() {
        let choices = choices(json!([
            {"suite": "GSM8K", "distribution": "in"},
            {"suite": "math500", "distribution": "in"},
            {"suite": "livecodebench", "name": "recent", "distribution": "out"},
            "humaneval",
        ]));
        let table = Generalization::of(
            &choices,
            [
                scored("base", "gsm8k", 0.8),
                scored("base", "math500", 0.6),
                scored("base", "recent", 0.1),
                scored("base", "humaneval", 1.0),
                scored("member", "gsm8k", 0.9),
            ],
        )
        .unwrap();
        assert_eq!(table.in_distribution, ["gsm8k", "math500"]);
        assert_eq!(table.out_of_distribution, ["recent"]);
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-12;
        let base = &table.rows[0];
        assert!(near(base.in_average, 0.7) && near(base.out_average, 0.1) && near(base.average, 0.5));
        assert!(!base.scores.contains_key("humaneval"), "it is not marked");
        let member = &table.rows[1];
        assert_eq!((member.in_average, member.out_average, member.average), (None, None, None));
    }

    #[test]
    fn nothing_is_marked_and_there_is_no_table() {
        assert_eq!(Generalization::of(&choices(json!(["gsm8k", {"suite": "humaneval", "n": 2}])), []), None);
        let read: Result<Vec<SuiteChoice>, _> =
            serde_json::from_value(json!([{"suite": "gsm8k", "distribution": "near"}]));
        assert!(read.is_err());
        let word: SuiteChoice = "gsm8k,distribution=out".parse().unwrap();
        assert_eq!(word.request().distribution, Some(Distribution::Out));
    }
}
