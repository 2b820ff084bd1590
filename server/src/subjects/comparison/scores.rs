//! Runs on the same suites: how their members that solve did when they were last measured, and how that differs from the
//! baseline, problem by problem.

use lyceum_core::id::ExecutionId;
use lyceum_core::statistics::Interval;
use lyceum_core::verdict::{Against, Comparison};
use lyceum_store::benchmarks::{self, LatestResult};
use serde::Serialize;
use sqlx::PgPool;
use std::collections::BTreeSet;

use crate::api_error::ApiError;
use crate::frame::format;

/// A suite, with a column for each run.
#[derive(Debug, Serialize)]
pub(super) struct Scores {
    pub(super) suite: String,
    /// Its name in tables.
    #[serde(skip)]
    pub(super) title: String,
    /// Its columns; none for runs that were not measured.
    pub(super) values: Vec<Option<Score>>,
}

/// The score of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Score {
    /// The mean over members of the share of problems that one answer solves.
    pub(super) pass_at_1: f64,
    /// Its interval of 95 % over problems.
    pub(super) interval: Option<Interval>,
    /// Finished steps when it was measured.
    pub(super) step: i32,
    /// Members that were measured.
    pub(super) members: i32,
    /// Problems.
    pub(super) rows: i32,
    /// The difference from the run's own base, or from its first measurement.
    pub(super) gain: Option<Comparison>,
    /// The difference from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Comparison>,
    /// Whether there is a baseline that is not known to have been measured in the same way.
    pub(super) is_incomparable: bool,
}

impl Score {
    /// The score, in per cent with its interval.
    pub(super) fn shown(&self) -> String {
        let solved = format::share(&self.pass_at_1);
        match self.interval {
            Some(Interval { low, high }) => format!("{solved} ({} to {})", format::share(&low), format::share(&high)),
            None => solved,
        }
    }

    /// The difference from the baseline, in percentage points with its interval.
    pub(super) fn against(&self) -> Option<String> {
        self.difference.as_ref().map(format::difference)
    }

    /// The difference from the run's own base.
    pub(super) fn gained(&self) -> Option<String> {
        let from_base = self.gain.as_ref().filter(|gain| gain.against == Against::Base);
        from_base.map(format::difference)
    }
}

/// The results of the runs, in their order, by suite.
pub(super) async fn scores(
    db: &PgPool,
    runs: &[ExecutionId],
    baseline: Option<usize>,
) -> Result<Vec<Scores>, ApiError> {
    Ok(by_suite(&benchmarks::latest_results(db, runs).await?, runs, baseline))
}

fn by_suite(results: &[LatestResult], runs: &[ExecutionId], baseline: Option<usize>) -> Vec<Scores> {
    let suites: BTreeSet<&str> = results.iter().map(|latest| latest.result.suite.as_str()).collect();
    let scores = |suite: &str| {
        let of = |place: usize| {
            let is_own = |latest: &&LatestResult| latest.of_run == runs[place].0 && latest.result.suite == suite;
            results.iter().find(is_own)
        };
        let column = |place: usize| {
            let own = of(place)?;
            let other = baseline.filter(|at| *at != place).and_then(of);
            let difference = other.and_then(|other| difference(other, own));
            Some(Score { is_incomparable: other.is_some() && difference.is_none(), difference, ..score(own) })
        };
        Scores {
            suite: suite.to_owned(),
            title: format::suite_title(suite).to_owned(),
            values: (0..runs.len()).map(column).collect(),
        }
    };
    suites.into_iter().map(scores).collect()
}

/// The difference of `own` from `other`; none if they are not known to be about the same rows, asked in the same way.
fn difference(other: &LatestResult, own: &LatestResult) -> Option<Comparison> {
    let way = |latest: &LatestResult| (latest.result.row_set.clone(), latest.result.decoding.clone());
    let against = Against::Step(other.result.step);
    let paired = || Comparison::paired(against, own.result.step, &other.shares, &own.shares);
    (way(other) == way(own)).then(paired).flatten()
}

fn score(latest: &LatestResult) -> Score {
    let result = &latest.result;
    let solved = latest.shares.iter().sum::<f64>();
    Score {
        pass_at_1: result.pass_at_1,
        interval: Interval::wilson(solved.round() as u64, latest.shares.len() as u64, Interval::Z_95),
        step: result.step,
        members: result.members,
        rows: result.rows,
        gain: result.comparison(),
        difference: None,
        is_incomparable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_store::benchmarks::RunResult;
    use uuid::Uuid;

    fn latest(run: u128, shares: &[f64]) -> LatestResult {
        LatestResult {
            of_run: Uuid::from_u128(run),
            result: RunResult {
                run_id: Uuid::from_u128(run),
                suite: "gsm8k".to_owned(),
                of_suite: "gsm8k".to_owned(),
                row_set: shares.len().to_string(),
                decoding: "greedy".to_owned(),
                step: 20,
                base_model: "seedling".to_owned(),
                temperature: Some(0.0),
                n: 1,
                rows: shares.len() as i32,
                members: 2,
                pass_at_1: shares.iter().sum::<f64>() / shares.len() as f64,
                standard_error: 0.1,
                reference: None,
                reference_step: None,
                difference_low: None,
                difference_high: None,
            },
            shares: shares.to_vec(),
        }
    }

    fn runs(count: u128) -> Vec<ExecutionId> {
        (1..=count).map(|run| ExecutionId(Uuid::from_u128(run))).collect()
    }

    #[test]
    fn runs_are_compared_problem_by_problem() {
        let shares = ([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0]);
        let all = [latest(1, &shares.0), latest(2, &shares.1)];
        let found = by_suite(&all, &runs(3), Some(0));
        let [scores] = &found[..] else { panic!("one suite: {found:?}") };
        let [Some(base), Some(other), None] = &scores.values[..] else {
            panic!("the third run was not measured: {scores:?}");
        };
        assert_eq!((base.pass_at_1, base.against()), (0.25, None));
        assert_eq!((other.pass_at_1, other.members, other.rows), (0.625, 2, 4));
        let expected = Comparison::paired(Against::Step(20), 20, &shares.0, &shares.1).unwrap();
        assert_eq!(other.difference, Some(expected));
        assert!(other.against().unwrap().starts_with("+37.5 (−"), "{:?}", other.against());
    }

    #[test]
    fn equal_answers_are_no_certainty() {
        let all = [latest(1, &[0.0, 0.0]), latest(2, &[0.0, 0.0])];
        let found = by_suite(&all, &runs(2), Some(1));
        let score = found[0].values[0].as_ref().unwrap();
        assert!(score.interval.unwrap().high > 0.5, "two problems say little");
        let difference = score.difference.as_ref().unwrap().difference;
        assert!(difference.low < 0.0 && difference.high > 0.0);
    }

    #[test]
    fn what_was_measured_in_another_way_is_not_subtracted() {
        let base = latest(1, &[1.0, 0.0]);
        let is_compared = |other: LatestResult| {
            let found = by_suite(&[base.clone(), other], &runs(2), Some(0));
            let score = found[0].values[1].as_ref().unwrap();
            assert_eq!(score.is_incomparable, score.difference.is_none(), "{score:?}");
            score.difference.is_some()
        };
        assert!(is_compared(latest(2, &[1.0, 1.0])));
        let mut sampled = latest(2, &[1.0, 1.0]);
        sampled.result.decoding = "temperature 0.8".to_owned();
        let mut others = latest(2, &[1.0, 1.0]);
        others.result.row_set = "other rows".to_owned();
        for other in [sampled, others, latest(2, &[1.0, 1.0, 1.0])] {
            assert!(!is_compared(other.clone()), "{other:?}");
        }
    }
}
