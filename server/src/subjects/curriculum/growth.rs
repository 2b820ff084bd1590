//! The growing set over steps, beside the scores of the run's members on benchmarks (SAGE, Figure 3).

use lyceum_core::{
    id::ExecutionId,
    recipe::{Growth as Column, Metric, Registry},
};
use lyceum_store::{
    benchmarks::{HELD_OUT_ROWS, RunResult, run_results, usual_results},
    metrics::{self, MetricRow, MetricsQuery},
    runs::RunDetail,
    steps::Stretch,
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::{api_error::ApiError, lab::Lab};

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
    /// The metrics that concern a growing set and its critic, the set's size first.
    #[serde(skip)]
    pub(crate) metrics: Vec<Metric>,
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
    pub(crate) members: i32,
    /// Their mean pass@1, from 0 to 1.
    pub(crate) pass_at_1: f64,
    /// Its standard error over the rows, which all members answer.
    pub(crate) standard_error: f64,
    /// Rows measured.
    pub(crate) rows: i32,
}

impl Growth {
    /// Reads these steps of `run` at a level of downsampling.
    pub(crate) async fn read(lab: &Lab, run: &RunDetail, steps: Stretch, level: u8) -> Result<Self, ApiError> {
        let (db, id) = (lab.store.pool(), ExecutionId(run.run.id));
        let query = MetricsQuery {
            from: steps.from,
            to: Some(steps.to),
            run_alone: true,
            level,
            limit: ROWS,
            ..MetricsQuery::default()
        };
        let (found, results) = futures::try_join!(metrics::rows(db, id, &query), run_results(db, id))?;
        let metrics = columns(&lab.registry);
        let place = |metric: &Metric| Some((metric.name, metric.place_in(&run.metrics)?));
        let places: Vec<(&'static str, usize)> = metrics.iter().filter_map(place).collect();
        let step = |row: &MetricRow| {
            let at = |place: usize| row.mean.get(place).copied().filter(|value| value.is_finite());
            GrowthStep {
                step: row.step,
                width: row.width,
                values: places.iter().map(|(name, place)| (*name, at(*place))).collect(),
            }
        };
        Ok(Self {
            threshold: super::gates(lab, run).map(|gates| gates.question),
            items: found.rows.iter().map(step).collect(),
            validation: validation(&results),
            metrics,
            rows: found.rows,
        })
    }

    /// The size of the set after these steps.
    pub(crate) fn size(&self, step: &GrowthStep) -> Option<f64> {
        let size = self.metrics.iter().find(|metric| metric.growth == Some(Column::Size))?;
        *step.values.get(size.name)?
    }
}

/// The metrics of any recipe that concern a growing set, so that all runs have the same columns.
fn columns(registry: &Registry) -> Vec<Metric> {
    let metrics = registry.recipes().flat_map(|recipe| recipe.metrics());
    let mut columns: Vec<Metric> = metrics.filter(|metric| metric.growth.is_some()).collect();
    columns.sort_by_key(|metric| metric.growth);
    columns.dedup_by_key(|metric| metric.name);
    columns
}

/// The results on each suite over steps.
fn validation(results: &[RunResult]) -> Vec<Validation> {
    let of_suites = usual_results(results)
        .into_iter()
        .filter(|result| result.suite != HELD_OUT_ROWS);
    let validation = |result: &RunResult| Validation {
        suite: result.suite.clone(),
        steps_done: result.step,
        members: result.members,
        pass_at_1: result.pass_at_1,
        standard_error: result.standard_error,
        rows: result.rows,
    };
    of_suites.map(validation).collect()
}
