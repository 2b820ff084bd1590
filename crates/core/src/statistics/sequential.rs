//! Paired differences over seeds: their mean with an interval, how many more seeds would narrow it, and a sequential test that
//! says when there are enough.

use serde::{Deserialize, Serialize};

use super::quantile;

/// Differences that vary by less are alike: sums of equal ones are not exact.
const ALIKE: f64 = 1e-12;
/// More seeds than this nobody runs.
const MANY: u32 = 10_000;

/// The mean of paired differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanDifference {
    /// Pairs.
    pub n: u32,
    pub mean: f64,
    /// The sample standard deviation; none for a single pair.
    pub deviation: Option<f64>,
    /// Half the width of the interval of 95 %: `t(n - 1) s / √n`, with the quantile of Student's t. None if all are alike, which
    /// is no certainty.
    pub reach: Option<f64>,
}

impl MeanDifference {
    /// The mean of `differences`; none without any.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let n = u32::try_from(differences.len()).ok().filter(|n| *n > 0)?;
        let mean = differences.iter().sum::<f64>() / f64::from(n);
        let squares: f64 = differences.iter().map(|each| (each - mean).powi(2)).sum();
        let deviation = (n > 1).then(|| (squares / f64::from(n - 1)).sqrt());
        Some(Self {
            n,
            mean,
            deviation,
            reach: deviation.filter(|deviation| *deviation > ALIKE).map(|deviation| reach(deviation, n)),
        })
    }

    /// How many more pairs would narrow the interval to ± `within`, if they vary as these do; none if that is unknown, or more
    /// than anybody runs.
    pub fn more_for(&self, within: f64) -> Option<u32> {
        let deviation = self.deviation.filter(|deviation| *deviation > ALIKE)?;
        let enough = (self.n.max(2)..=MANY).find(|n| reach(deviation, *n) <= within)?;
        Some(enough - self.n)
    }
}

fn reach(deviation: f64, n: u32) -> f64 {
    quantile(f64::from(n - 1), 0.975) * deviation / f64::from(n).sqrt()
}

/// A sequential test of the mean of paired differences: is it `h1` or `h0`? It is looked at after every pair, and stops at the
/// first that decides.
///
/// The generalised likelihood ratio of normal differences whose variance is unknown, as fishtest's for games between chess
/// engines: `LLR = n/2 · ln(Σ(d − h0)² / Σ(d − h1)²)`, against Wald's (1945) bounds `ln((1 − β)/α)` and `ln(β/(1 − α))`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct SequentialTest {
    /// The share of tests that decide for `h1` although the mean is `h0`.
    pub alpha: f64,
    /// The share of tests that decide for `h0` although the mean is `h1`.
    pub beta: f64,
    pub h0: f64,
    pub h1: f64,
}

/// What a sequential test has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The mean is `h1`, or beyond it.
    H1,
    /// The mean is `h0`, or beyond it.
    H0,
    /// More pairs are needed.
    Open,
}

/// How a sequential test stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// The log-likelihood ratio; none before there are enough pairs to know their variance.
    pub llr: Option<f64>,
    /// Below it, `h0`.
    pub lower: f64,
    /// Above it, `h1`.
    pub upper: f64,
    /// The pairs that were looked at: those after the one that decided do not count.
    pub n: u32,
    pub decision: Decision,
}

impl SequentialTest {
    /// Pairs before the first decision. With fewer, the variance is so badly known that more tests err than should.
    pub const FEWEST: usize = 5;

    /// How the test stands after `differences`, in the order in which they were to come.
    pub fn of(&self, differences: &[f64]) -> Standing {
        let (upper, lower) = (((1.0 - self.beta) / self.alpha).ln(), (self.beta / (1.0 - self.alpha)).ln());
        let (mut squares_0, mut squares_1) = (0.0, 0.0);
        let mut standing = Standing { llr: None, lower, upper, n: 0, decision: Decision::Open };
        for each in differences {
            squares_0 += (each - self.h0).powi(2);
            squares_1 += (each - self.h1).powi(2);
            standing.n += 1;
            if (standing.n as usize) < Self::FEWEST {
                continue;
            }
            let llr = f64::from(standing.n) / 2.0 * (squares_0 / squares_1).ln();
            // Differences that are all equal to one of the two say nothing of their variance.
            if !llr.is_finite() {
                continue;
            }
            standing.llr = Some(llr);
            standing.decision = match llr {
                llr if llr >= upper => Decision::H1,
                llr if llr <= lower => Decision::H0,
                _ => Decision::Open,
            };
            if standing.decision != Decision::Open {
                break;
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution as _, Normal};

    const DIFFERENCES: [f64; 5] = [0.021, -0.004, 0.033, 0.012, 0.027];

    fn close(left: f64, right: f64, within: f64) {
        assert!((left - right).abs() < within, "{left} is not {right}");
    }

    /// scipy 1.x: `stats.t.interval(0.95, 4, d.mean(), stats.sem(d))`, and `stats.t.ppf(0.975, [12, 13, 39])`.
    #[test]
    fn the_mean_and_its_interval_are_scipys() {
        let found = MeanDifference::of(&DIFFERENCES).unwrap();
        close(found.mean, 0.0178, 1e-12);
        close(found.deviation.unwrap(), 0.014_446_452_851_824_908, 1e-12);
        close(found.mean + found.reach.unwrap(), 0.035_737_640_407_859_08, 1e-9);
        for (freedom, wanted) in [(12, 2.178_812_830), (13, 2.160_368_656), (39, 2.022_690_920)] {
            close(quantile(f64::from(freedom), 0.975), wanted, 1e-8);
        }
        let alone = MeanDifference::of(&[0.1]).unwrap();
        assert_eq!((alone.reach, alone.more_for(1.0)), (None, None), "one pair has no spread");
        let alike = MeanDifference::of(&[0.1; 3]).unwrap();
        assert_eq!((alike.reach, alike.more_for(1.0)), (None, None), "equal ones are no certainty");
        assert_eq!(MeanDifference::of(&[]), None);
    }

    /// scipy: the smallest n with `stats.t.ppf(0.975, n - 1) * s / sqrt(n) <= x`.
    #[test]
    fn more_seeds_narrow_the_interval_as_scipy_says() {
        let found = MeanDifference::of(&DIFFERENCES).unwrap();
        assert_eq!(
            [0.02, 0.01, 0.005, 0.002].map(|within| found.more_for(within)),
            [Some(0), Some(6), Some(30), Some(198)]
        );
        assert_eq!(found.more_for(1e-6), None);
    }

    /// numpy: `n/2 * log(sum((d-h0)**2) / sum((d-h1)**2))`.
    #[test]
    fn the_log_likelihood_ratio_is_numpys_and_its_bounds_are_walds() {
        for (h0, h1, llr) in [(0.0, 0.02, 2.588_351_471_564_429), (0.005, 0.015, 1.594_678_749_820_253)] {
            let test = SequentialTest { alpha: 0.05, beta: 0.05, h0, h1 };
            let standing = test.of(&DIFFERENCES);
            close(standing.llr.unwrap(), llr, 1e-9);
            assert_eq!(standing.decision, Decision::Open);
        }
        let test = SequentialTest { alpha: 0.1, beta: 0.2, h0: 0.0, h1: 0.02 };
        let standing = test.of(&DIFFERENCES);
        close(standing.upper, 2.079_441_541_679_835_7, 1e-12);
        close(standing.lower, -1.504_077_396_776_274, 1e-12);
        assert_eq!((standing.decision, standing.n), (Decision::H1, 5));
        let few = test.of(&DIFFERENCES[..4]);
        assert_eq!((few.llr, few.decision), (None, Decision::Open), "four pairs decide nothing");
    }

    #[test]
    fn equal_differences_decide_nothing() {
        let test = SequentialTest { alpha: 0.1, beta: 0.2, h0: 0.0, h1: 0.02 };
        for each in [0.0, 0.02] {
            let standing = test.of(&[each; 8]);
            assert_eq!((standing.llr, standing.decision), (None, Decision::Open));
        }
    }

    #[test]
    fn what_comes_after_the_decision_changes_nothing() {
        let test = SequentialTest { alpha: 0.1, beta: 0.2, h0: 0.0, h1: 0.02 };
        let mut more = DIFFERENCES.to_vec();
        more.extend([-1.0; 5]);
        assert_eq!(test.of(&more), test.of(&DIFFERENCES));
    }

    /// Of 4,000 tests each, at effects of a quarter to twice the standard deviation: no more than one in a hundred more errs than
    /// was asked for, and the test that is asked for more certainty takes longer.
    #[test]
    fn no_more_tests_err_than_was_asked_for() {
        const TESTS: usize = 4_000;
        let mut random = ChaCha8Rng::seed_from_u64(20);
        let mut play = |test: SequentialTest, mean: f64| {
            let normal = Normal::new(mean, 1.0).unwrap();
            let mut differences = Vec::new();
            loop {
                differences.push(normal.sample(&mut random));
                let standing = test.of(&differences);
                if standing.decision != Decision::Open || differences.len() > 600 {
                    return standing;
                }
            }
        };
        for (alpha, beta) in [(0.05, 0.05), (0.1, 0.02)] {
            for effect in [0.5, 1.0, 2.0] {
                let test = SequentialTest { alpha, beta, h0: 0.0, h1: effect };
                let mut errs = |mean, wrong| {
                    let wrongly = (0..TESTS).filter(|_| play(test, mean).decision == wrong);
                    wrongly.count() as f64 / TESTS as f64
                };
                let (first, second) = (errs(0.0, Decision::H1), errs(effect, Decision::H0));
                assert!(first <= alpha + 0.01, "{test:?}: {first}");
                assert!(second <= beta + 0.01, "{test:?}: {second}");
            }
        }
    }
}
