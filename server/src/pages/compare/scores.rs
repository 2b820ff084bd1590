//! Runs on the same suites: how their members that solve did when they were last measured, and how that differs from the
//! baseline, problem by problem.

use lyceum_core::{
    benchmark::Score as Counts,
    id::ExecutionId,
    verdict::{Against, Comparison},
    wilson::Interval,
};
use lyceum_store::benchmarks::{self, BenchmarkResult};
use serde::Serialize;
use sqlx::PgPool;
use std::collections::BTreeMap;

use super::super::evaluations::title;
use crate::{api_error::ApiError, evaluation::are_alike};

/// A suite, with a column for each run.
#[derive(Debug, Serialize)]
pub(super) struct Scores {
    /// The suite.
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
    pub(super) members: usize,
    /// Problems.
    pub(super) rows: usize,
    /// The difference from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<Comparison>,
    /// Whether there is a baseline that is not known to have been measured in the same way.
    pub(super) is_incomparable: bool,
}

impl Score {
    /// The score, in per cent with its interval.
    pub(super) fn shown(&self) -> String {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        match self.interval {
            Some(Interval { low, high }) => {
                format!("{} ({} to {})", percent(self.pass_at_1), percent(low), percent(high))
            }
            None => percent(self.pass_at_1),
        }
    }

    /// The difference from the baseline, in percentage points with its interval.
    pub(super) fn against(&self) -> Option<String> {
        let points = |share: f64| format!("{:+.1}", share * 100.0).replace('-', "−");
        let found = self.difference.as_ref()?;
        let Interval { low, high } = found.difference;
        Some(format!(
            "{} ({} to {})",
            points(found.gain()),
            points(low),
            points(high)
        ))
    }
}

/// The results of the runs, in their order, by suite.
pub(super) async fn scores(
    db: &PgPool,
    runs: &[ExecutionId],
    baseline: Option<usize>,
) -> Result<Vec<Scores>, ApiError> {
    let results = benchmarks::latest_results(db, runs).await?;
    Ok(by_suite(&results, runs, baseline))
}

fn by_suite(results: &[BenchmarkResult], runs: &[ExecutionId], baseline: Option<usize>) -> Vec<Scores> {
    let mut suites: BTreeMap<&str, Vec<Vec<&BenchmarkResult>>> = BTreeMap::new();
    for result in results {
        let place = runs.iter().position(|run| Some(run.0) == result.run_id);
        if let Some(place) = place {
            suites
                .entry(&result.suite)
                .or_insert_with(|| vec![Vec::new(); runs.len()])[place]
                .push(result);
        }
    }
    let scores = |(suite, columns): (&str, Vec<Vec<&BenchmarkResult>>)| {
        let rows: Vec<Option<Vec<f64>>> = columns.iter().map(|own| by_row(own)).collect();
        let base = baseline.and_then(|place| Some((place, columns[place].first()?, rows[place].as_deref()?)));
        let column = |place: usize| {
            let (own, rows) = (columns[place].first()?, rows[place].as_deref()?);
            let other = base.filter(|(at, ..)| *at != place);
            let comparable = other.filter(|(at, first, _)| {
                let mut members = columns[*at].iter().chain(&columns[place]);
                members.all(|one| are_alike(first, one))
            });
            let difference =
                comparable.and_then(|(_, first, base)| Comparison::paired(against(first), own.step?, base, rows));
            Some(Score {
                is_incomparable: other.is_some() && difference.is_none(),
                difference,
                ..score(own, columns[place].len(), rows)
            })
        };
        Scores {
            suite: suite.to_owned(),
            title: title(suite).to_owned(),
            values: (0..runs.len()).map(column).collect(),
        }
    };
    suites.into_iter().map(scores).collect()
}

fn score(first: &BenchmarkResult, members: usize, rows: &[f64]) -> Score {
    let solved = rows.iter().sum::<f64>();
    Score {
        pass_at_1: solved / rows.len().max(1) as f64,
        interval: Interval::wilson(solved.round() as u64, rows.len() as u64, Interval::Z_95),
        step: first.step.unwrap_or_default(),
        members,
        rows: rows.len(),
        difference: None,
        is_incomparable: false,
    }
}

/// The mean over members of pass@1, row by row; none if they were not asked equally many.
fn by_row(members: &[&BenchmarkResult]) -> Option<Vec<f64>> {
    let is_one_size = members.windows(2).all(|pair| pair[0].rows == pair[1].rows);
    let scores: Vec<Counts> = members.iter().map(|one| one.score()).collect();
    Counts::mean_by_row(&scores, 1).filter(|_| is_one_size)
}

fn against(baseline: &BenchmarkResult) -> Against {
    Against::Step(baseline.step.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::benchmark::SubjectRole;
    use serde_json::json;
    use uuid::Uuid;

    fn result(run: u128, member: u128, correct: &[i32], temperature: f64) -> BenchmarkResult {
        BenchmarkResult {
            id: Uuid::nil(),
            seq: 0,
            evaluation_id: Uuid::nil(),
            suite: "gsm8k".to_owned(),
            subject: 0,
            name: format!("student-{member}"),
            role: SubjectRole::Student,
            run_id: Some(Uuid::from_u128(run)),
            member_id: Some(Uuid::from_u128(member)),
            version_id: None,
            step: Some(20),
            base_model: "seedling".to_owned(),
            dataset_id: Some(Uuid::nil()),
            protocol: json!({"temperature": temperature}),
            n: 1,
            rows: correct.len() as i32,
            samples: vec![1; correct.len()],
            correct: correct.to_vec(),
            base_correct: None,
            pass_at_1: 0.0,
            standard_error: 0.0,
            completion_tokens: 1,
            entropy: None,
            seconds: 1.0,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn runs(count: u128) -> Vec<ExecutionId> {
        (1..=count).map(|run| ExecutionId(Uuid::from_u128(run))).collect()
    }

    #[test]
    fn members_are_averaged_and_compared_problem_by_problem() {
        let all = [
            result(1, 1, &[1, 0, 0, 0], 0.0),
            result(2, 2, &[1, 1, 1, 0], 0.0),
            result(2, 3, &[1, 1, 0, 0], 0.0),
        ];
        let found = by_suite(&all, &runs(3), Some(0));
        let [scores] = &found[..] else {
            panic!("one suite: {found:?}")
        };
        let [Some(base), Some(other), None] = &scores.values[..] else {
            panic!("the third run was not measured: {scores:?}");
        };
        assert_eq!((base.pass_at_1, base.members, base.against()), (0.25, 1, None));
        assert_eq!((other.pass_at_1, other.members, other.rows), (0.625, 2, 4));
        let shares = ([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0]);
        let expected = Comparison::paired(Against::Step(20), 20, &shares.0, &shares.1).unwrap();
        assert_eq!(other.difference, Some(expected));
        assert!(
            other.against().unwrap().starts_with("+37.5 (−"),
            "{:?}",
            other.against()
        );
    }

    #[test]
    fn equal_answers_are_no_certainty() {
        let all = [result(1, 1, &[0, 0], 0.0), result(2, 2, &[0, 0], 0.0)];
        let found = by_suite(&all, &runs(2), Some(1));
        let score = found[0].values[0].as_ref().unwrap();
        assert!(score.interval.unwrap().high > 0.5, "two problems say little");
        let difference = score.difference.as_ref().unwrap().difference;
        assert!(difference.low < 0.0 && difference.high > 0.0);
    }

    /// Whether the second run, with these results, is compared with the first.
    fn is_compared(base: BenchmarkResult, others: &[BenchmarkResult]) -> bool {
        let all = [&[base], others].concat();
        let found = by_suite(&all, &runs(2), Some(0));
        let score = found[0].values[1].as_ref().unwrap();
        assert_eq!(score.is_incomparable, score.difference.is_none(), "{score:?}");
        score.difference.is_some()
    }

    #[test]
    fn what_was_measured_in_another_way_is_not_subtracted() {
        let base = || result(1, 1, &[1, 0], 0.0);
        let other = || result(2, 2, &[1, 1], 0.0);
        assert!(is_compared(base(), &[other()]));
        let template = BenchmarkResult {
            protocol: json!({"temperature": 0.0, "chat_template_sha256": "0a"}),
            ..other()
        };
        for changed in [result(2, 2, &[1, 1], 0.8), result(2, 2, &[1, 1, 1], 0.0), template] {
            assert!(!is_compared(base(), std::slice::from_ref(&changed)), "{changed:?}");
            if changed.rows == 2 {
                let second = BenchmarkResult {
                    member_id: Some(Uuid::from_u128(3)),
                    ..changed
                };
                assert!(!is_compared(base(), &[other(), second]), "the second member counts too");
            }
        }
    }

    #[test]
    fn rows_that_were_deleted_are_not_known_to_be_the_same() {
        let deleted = |result: BenchmarkResult| BenchmarkResult {
            dataset_id: None,
            ..result
        };
        let (base, other) = (result(1, 1, &[1, 0], 0.0), result(2, 2, &[1, 1], 0.0));
        assert!(!is_compared(deleted(base), &[deleted(other)]));
    }
}
