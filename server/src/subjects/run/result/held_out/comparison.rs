//! The latest held-out accuracy against the base, for the verdict on a run.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::WARM_UP;
use lyceum_core::verdict::{Against, Comparison, HeldOut};
use lyceum_store::benchmarks::{self, Answered, HELD_OUT_ROWS, Measurement, RunResult};
use lyceum_store::runs::RunDetail;
use lyceum_store::steps;
use sqlx::PgPool;

use super::accuracy::{by_row, solves};
use super::{chosen, is_measuring, is_scheduled};
use crate::api_error::ApiError;

/// What is known of a run's accuracy.
pub(crate) struct Latest {
    /// The comparison with the base.
    pub(crate) held_out: HeldOut,
    /// Whether it is about the rows that the run holds out itself, instead of the suite that its overview charts.
    pub(crate) is_of_own_rows: bool,
    /// The comparison with the run's own accuracy at the end of its warm-up.
    pub(crate) since_warm_up: Option<Comparison>,
}

/// What is known of a run's accuracy.
pub(crate) async fn latest(db: &PgPool, run: &RunDetail) -> Result<Latest, ApiError> {
    let id = ExecutionId(run.run.id);
    let (ways, results) = futures::try_join!(benchmarks::measurements(db, id), benchmarks::run_results(db, id))?;
    if let Some((result, comparison)) = compared(&ways, &results) {
        return Ok(Latest {
            held_out: HeldOut::Measured(comparison),
            is_of_own_rows: result.suite == HELD_OUT_ROWS,
            since_warm_up: since_warm_up(db, id, &ways).await?,
        });
    }
    let is_due = is_scheduled(run) || !ways.is_empty();
    let held_out = if is_due && is_measuring(db, &run.run).await? { HeldOut::Awaited } else { HeldOut::Unmeasured };
    Ok(Latest { held_out, is_of_own_rows: false, since_warm_up: None })
}

/// The latest accuracy against that at the end of the warm-up, on the rows that are charted.
async fn since_warm_up(db: &PgPool, run: ExecutionId, ways: &[Measurement]) -> Result<Option<Comparison>, ApiError> {
    let Some((way, _)) = chosen(ways) else { return Ok(None) };
    let Some(end) = steps::end_of_stage(db, run, WARM_UP).await? else { return Ok(None) };
    let Some(&last) = way.steps.last().filter(|last| **last > end && way.steps.contains(&end)) else {
        return Ok(None);
    };
    let answered = benchmarks::answered(db, run, way, &[end, last]).await?;
    let at = |step: i32| {
        let own = answered.iter().filter(|answered| solves(answered) && answered.step == Some(step));
        by_row(&own.collect::<Vec<&Answered>>(), 1)
    };
    let ends = at(end).zip(at(last));
    Ok(ends.and_then(|(first, last_scores)| Comparison::paired(Against::Step(end), last, &first, &last_scores)))
}

/// The result that the verdict is about: on the suite that is charted or, without one, on the run's own rows.
pub(crate) fn compared<'r>(ways: &[Measurement], results: &'r [RunResult]) -> Option<(&'r RunResult, Comparison)> {
    let charted = chosen(ways).map(|(one, _)| one.suite.as_str());
    let suites = charted.into_iter().chain([HELD_OUT_ROWS]);
    suites.filter_map(|suite| decisive(results, suite)).find_map(|result| Some((result, result.comparison()?)))
}

/// Of the results on `suite` that can be compared with an earlier state, the one that says most of the present one.
fn decisive<'r>(results: &'r [RunResult], suite: &str) -> Option<&'r RunResult> {
    let comparable = results.iter().filter(|result| result.of_suite == suite && result.reference.is_some());
    comparable.max_by_key(|result| result.weight())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_comparable_result_of_the_latest_step_decides() {
        let result = |suite: &str, n: i32, rows: i32, step| RunResult {
            run_id: uuid::Uuid::nil(),
            suite: format!("{suite}-{n}"),
            of_suite: suite.to_owned(),
            row_set: format!("{suite}-{rows}"),
            decoding: n.to_string(),
            step,
            base_model: "seedling".to_owned(),
            temperature: Some(0.0),
            n,
            rows,
            members: 1,
            pass_at_1: 0.5,
            standard_error: 0.1,
            reference: Some(0.25),
            reference_step: None,
            difference_low: Some(0.1),
            difference_high: Some(0.4),
        };
        let all = [
            result("code", 1, 64, 30),
            result("code", 8, 64, 30),
            result("code", 1, 500, 20),
            result("code", 1, 300, 30),
            result("math", 1, 900, 30),
        ];
        assert_eq!(decisive(&all, "code"), Some(&all[3]));
        assert_eq!(decisive(&all[..3], "code"), Some(&all[0]));
        let incomparable = RunResult { reference: None, ..all[3].clone() };
        let two = [all[0].clone(), incomparable];
        assert_eq!(decisive(&two, "code"), Some(&two[0]), "of the other rows nothing else is known");
        assert_eq!(decisive(&two[1..], "code"), None);
    }
}
