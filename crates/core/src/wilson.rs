//! Confidence intervals for shares.

use serde::{Deserialize, Serialize};

/// The likely range of a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, at least 0.
    pub low: f64,
    /// Upper end, at most 1.
    pub high: f64,
}

impl Interval {
    /// The quantile of the normal distribution for 95 %.
    pub const Z_95: f64 = 1.959_963_984_540_054;

    /// Wilson's score interval for `successes` out of `trials` at the normal quantile `z`; `None` without trials.
    pub fn wilson(successes: u64, trials: u64, z: f64) -> Option<Self> {
        if trials == 0 {
            return None;
        }
        let n = trials as f64;
        let share = successes as f64 / n;
        let shrink = 1.0 + z * z / n;
        let middle = (share + z * z / (2.0 * n)) / shrink;
        let half = z / shrink * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        Some(Self {
            low: if successes == 0 { 0.0 } else { middle - half },
            high: if successes == trials { 1.0 } else { middle + half },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_equal_scipys() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        for (successes, trials, low, high) in [
            (0, 8, 0.0, 0.324_407_564_883_880_23),
            (3, 8, 0.136_844_285_823_597_37, 0.694_257_605_397_372_8),
            (8, 8, 0.675_592_435_116_119_8, 1.0),
            (500, 1000, 0.469_069_600_368_104_2, 0.530_930_399_631_895_8),
        ] {
            let interval = Interval::wilson(successes, trials, Interval::Z_95).unwrap();
            assert!(
                (interval.low - low).abs() < 1e-9 && (interval.high - high).abs() < 1e-9,
                "{interval:?}"
            );
        }
        assert_eq!(Interval::wilson(0, 0, 2.0), None);
    }
}
