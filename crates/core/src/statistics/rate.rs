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
        Some(Self::score(successes as f64 / trials as f64, trials as f64, z))
    }

    /// Wilson's interval for a share of trials that come in clusters, such as attempts at the same problem: `clusters`
    /// has the successes and trials of each. The number of trials is replaced by the effective one, which is the
    /// binomial variance over the variance estimated from the clusters (Dean and Pagano 2015): at most the number of
    /// trials, and the number of clusters if all trials succeed or all fail. `None` without trials.
    pub fn clustered(clusters: &[(u64, u64)], z: f64) -> Option<Self> {
        let mut sums = Clusters::default();
        clusters.iter().for_each(|(successes, trials)| sums.add(*successes, *trials));
        sums.interval(z)
    }

    /// The interval of 95 % of the mean of shares with this standard error over `rows`: normal, cut off at 0 and 1. Where all
    /// rows came out alike, the error is 0, which is no certainty: the interval is then Wilson's, as if a row were a trial.
    pub fn of_mean(mean: f64, standard_error: f64, rows: u64) -> Self {
        // Equal shares that have no exact sum leave an error that is not quite 0; the least real one is far larger.
        if standard_error < 1e-9 && rows > 0 {
            return Self::score(mean, rows as f64, Self::Z_95);
        }
        let reach = Self::Z_95 * standard_error;
        Self { low: (mean - reach).max(0.0), high: (mean + reach).min(1.0) }
    }

    fn score(share: f64, n: f64, z: f64) -> Self {
        let shrink = 1.0 + z * z / n;
        let middle = (share + z * z / (2.0 * n)) / shrink;
        let half = z / shrink * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        Self {
            low: if share <= 0.0 { 0.0 } else { middle - half },
            high: if share >= 1.0 { 1.0 } else { middle + half },
        }
    }
}

/// Sums over clusters of trials, which suffice for [`Interval::clustered`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    /// Clusters with trials; 0 if they are not known, though there are trials.
    pub count: u64,
    pub successes: u64,
    pub trials: u64,
    /// Of each cluster's successes.
    pub successes_squared: u64,
    /// Of each cluster's successes times its trials.
    pub products: u64,
    /// Of each cluster's trials.
    pub trials_squared: u64,
}

impl Clusters {
    /// Adds a cluster.
    pub fn add(&mut self, successes: u64, trials: u64) {
        self.count += u64::from(trials > 0);
        self.successes += successes;
        self.trials += trials;
        self.successes_squared += successes * successes;
        self.products += successes * trials;
        self.trials_squared += trials * trials;
    }

    /// See [`Interval::clustered`]. Where the clusters are not known, every trial counts as one.
    pub fn interval(&self, z: f64) -> Option<Interval> {
        if self.count == 0 {
            return Interval::wilson(self.successes, self.trials, z);
        }
        let [count, trials] = [self.count, self.trials].map(|sum| sum as f64);
        let share = self.successes as f64 / trials;
        // Σ (successes − share · trials)².
        let squares = self.successes_squared as f64 - 2.0 * share * self.products as f64
            + share * share * self.trials_squared as f64;
        let binomial = share * (1.0 - share);
        let effective = match self.count {
            _ if binomial == 0.0 => count,
            1 => 1.0,
            _ => (binomial * trials * trials * (count - 1.0) / (count * squares.max(0.0))).clamp(1.0, trials),
        };
        Some(Interval::score(share, effective, z))
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
            assert!((interval.low - low).abs() < 1e-9 && (interval.high - high).abs() < 1e-9, "{interval:?}");
        }
        assert_eq!(Interval::wilson(0, 0, 2.0), None);
    }

    #[test]
    fn rows_that_came_out_alike_are_no_certainty() {
        let wilson = |solved| Interval::wilson(solved, 60, Interval::Z_95).unwrap();
        assert_eq!(Interval::of_mean(0.0, 0.0, 60), wilson(0));
        assert_eq!(Interval::of_mean(1.0, 0.0, 60), wilson(60));
        let thirds = crate::benchmark::Spread::of(&[1.0 / 3.0; 60]).unwrap();
        let alike = Interval::of_mean(thirds.mean, thirds.standard_error, 60);
        assert!(alike.high - alike.low > 0.2, "{alike:?}");
        let apart = Interval::of_mean(0.5, 0.1, 60);
        assert!((apart.high - 0.695_996_398).abs() < 1e-9, "{apart:?}");
        assert_eq!(Interval::of_mean(0.99, 0.1, 60).high, 1.0);
        assert_eq!(Interval::of_mean(0.0, 0.0, 0), Interval { low: 0.0, high: 0.0 });
    }

    #[test]
    fn attempts_at_one_problem_count_for_less_the_more_alike_they_are() {
        let width = |interval: Interval| interval.high - interval.low;
        let clustered = |clusters: &[(u64, u64)]| Interval::clustered(clusters, Interval::Z_95).unwrap();
        // Each problem solved always or never: eight problems say no more than about eight attempts.
        let alike = clustered(&[(8, 8), (0, 8), (8, 8), (0, 8), (8, 8), (0, 8), (8, 8), (0, 8)]);
        let of_problems = Interval::wilson(4, 8, Interval::Z_95).unwrap();
        assert!(width(alike) > width(of_problems) && width(alike) < 1.1 * width(of_problems), "{alike:?}");
        // Problems that differ less than chance would have them: every attempt counts.
        let independent = clustered(&[(4, 8); 8]);
        assert_eq!(independent, Interval::wilson(32, 64, Interval::Z_95).unwrap());
        // One attempt at each: the effective number differs from the plain one by the sample variance's n - 1.
        let single = clustered(&[(1, 1), (0, 1), (0, 1), (1, 1)]);
        assert!((width(single) - width(Interval::score(0.5, 3.0, Interval::Z_95))).abs() < 1e-12, "{single:?}");
        assert_eq!(clustered(&[(0, 8); 5]), Interval::wilson(0, 5, Interval::Z_95).unwrap());
        assert_eq!(clustered(&[(0, 0), (8, 8)]).high, 1.0);
        assert_eq!(Interval::clustered(&[(0, 0)], 2.0), None);
        // Clusters that nobody counted.
        let unknown = Clusters { successes: 3, trials: 8, ..Clusters::default() };
        assert_eq!(unknown.interval(Interval::Z_95), Interval::wilson(3, 8, Interval::Z_95));
    }
}
