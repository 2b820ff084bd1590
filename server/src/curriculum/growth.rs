//! The growing set over steps, beside the scores of the run's members on benchmarks (SAGE, Figure 3).

use lyceum_core::{
    benchmark::{Score, Spread},
    id::ExecutionId,
};
use lyceum_store::{
    benchmarks::{AnsweredSuite, answered_by_step},
    metrics::{self, MetricRow, MetricsQuery},
    runs::RunDetail,
    steps::Stretch,
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::{api::Api, api_error::ApiError};

/// The metrics that concern the growing set and its critic, the set's size first.
pub(crate) const METRICS: [&str; 7] = [
    "pool_size",
    "admitted_share",
    "question_score",
    "plan_score",
    "critic_auc",
    "stated_right_share",
    "admitted_right_share",
];
/// More rows than any chart has.
const ROWS: u32 = 20_000;

/// How a run's growing set grows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Growth {
    /// The least score with which a problem joins the set; absent if the run's recipe is unknown here or has no such set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.7)]
    pub(crate) threshold: Option<f64>,
    /// The steps, in order.
    pub(crate) items: Vec<GrowthStep>,
    /// Scores of the run's members on benchmarks, by suite and step.
    pub(crate) validation: Vec<Validation>,
    /// The metrics as rows, for curves.
    #[serde(skip)]
    pub(crate) rows: Vec<MetricRow>,
}

/// Some steps.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct GrowthStep {
    /// The first of them.
    pub(crate) step: i32,
    /// How many they are.
    pub(crate) width: i32,
    /// `pool_size`, `admitted_share`, `question_score`, `plan_score`, `critic_auc`, `stated_right_share` and
    /// `admitted_right_share`: means over the steps that have a value.
    pub(crate) values: BTreeMap<&'static str, Option<f64>>,
}

/// What a run's members scored on a suite.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Validation {
    /// The suite.
    pub(crate) suite: String,
    /// Steps that were done.
    pub(crate) steps_done: i32,
    /// Members measured.
    pub(crate) members: usize,
    /// Their mean pass@1, from 0 to 1.
    pub(crate) pass_at_1: f64,
    /// Its standard error over the rows, which all members answer.
    pub(crate) standard_error: f64,
    /// Rows measured.
    pub(crate) rows: u64,
}

impl Growth {
    /// Reads these steps of `run` at a level of downsampling.
    pub(crate) async fn read(api: &Api, run: &RunDetail, steps: Stretch, level: u8) -> Result<Self, ApiError> {
        let (db, id) = (api.store.pool(), ExecutionId(run.run.id));
        let query = MetricsQuery {
            from: steps.from,
            to: Some(steps.to),
            run_alone: true,
            level,
            limit: ROWS,
            ..MetricsQuery::default()
        };
        let (found, answers) = futures::try_join!(metrics::rows(db, id, &query), answered_by_step(db, id))?;
        let place = |name: &&'static str| Some((*name, run.metrics.iter().position(|metric| metric == name)?));
        let places: Vec<(&'static str, usize)> = METRICS.iter().filter_map(place).collect();
        let step = |row: &MetricRow| {
            let at = |place: usize| row.mean.get(place).copied().filter(|value| value.is_finite());
            GrowthStep {
                step: row.step,
                width: row.width,
                values: places.iter().map(|(name, place)| (*name, at(*place))).collect(),
            }
        };
        Ok(Self {
            threshold: super::gates(api, run).map(|gates| gates.question),
            items: found.rows.iter().map(step).collect(),
            validation: validation(&answers),
            rows: found.rows,
        })
    }
}

/// The means over the members of each suite and step.
fn validation(answers: &[AnsweredSuite]) -> Vec<Validation> {
    let mut all: BTreeMap<(&str, i32), Vec<Score>> = BTreeMap::new();
    for AnsweredSuite { suite, answered } in answers {
        if let Some(step) = answered.step {
            all.entry((suite, step)).or_default().push(answered.score());
        }
    }
    let mean = |((suite, steps_done), members): ((&str, i32), Vec<Score>)| {
        let spread = Spread::of(&Score::mean_by_row(&members, 1)?)?;
        Some(Validation {
            suite: suite.to_owned(),
            steps_done,
            members: members.len(),
            pass_at_1: spread.mean,
            standard_error: spread.standard_error,
            rows: spread.count,
        })
    };
    all.into_iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::benchmark::SubjectRole;
    use lyceum_store::benchmarks::Answered;
    use uuid::Uuid;

    fn answers(step: i32, correct: [i32; 4]) -> AnsweredSuite {
        AnsweredSuite {
            suite: "gsm8k".to_owned(),
            answered: Answered {
                step: Some(step),
                member_id: Some(Uuid::nil()),
                name: String::new(),
                role: SubjectRole::Member,
                samples: vec![1; 4],
                correct: correct.to_vec(),
                completion_tokens: 0,
            },
        }
    }

    #[test]
    fn members_of_a_step_are_averaged_row_by_row() {
        let alike = [1, 1, 0, 0];
        let found = validation(&[
            answers(10, [1, 1, 1, 1]),
            answers(10, alike),
            answers(20, alike),
            answers(20, alike),
        ]);
        let steps: Vec<(i32, usize, f64, u64)> = found
            .iter()
            .map(|one| (one.steps_done, one.members, one.pass_at_1, one.rows))
            .collect();
        assert_eq!(steps, [(10, 2, 0.75, 4), (20, 2, 0.5, 4)]);
        // Rows 1, 1, 0.5, 0.5: statistics.stdev is 0.288675, half of it 0.144338.
        assert!((found[0].standard_error - 0.144_338).abs() < 1e-6, "{found:?}");
        let alone = validation(&[answers(20, alike)]);
        assert_eq!(
            found[1].standard_error, alone[0].standard_error,
            "who answers alike says nothing new about the rows"
        );
    }
}
