//! How a run's growing set grows, and how good the scores are that decide what joins it.

pub(super) mod page;
mod scores;

use actix_web::{HttpRequest, HttpResponse, Responder as _, web};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Gates, Growth as Column, Metric, Registry};
use lyceum_store::benchmarks::{HELD_OUT_ROWS, RunResult, run_results, usual_results};
use lyceum_store::metrics::{self, MetricRow, MetricsQuery};
use lyceum_store::runs::{self, RunDetail};
use lyceum_store::steps::Stretch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Format, Query, csv};
use crate::lab::Lab;
use crate::subjects::runs::metrics::level_for;

pub(crate) use scores::{ScoreBucket, Scores};

/// The scores that a critic's gates of `run` open from; `None` if its recipe has none, or is unknown here.
pub(crate) fn gates(lab: &Lab, run: &RunDetail) -> Option<Gates> {
    let recipe = lab.registry.get(&run.run.recipe).ok()?;
    let config = serde_json::from_value(run.config.clone()).ok()?;
    recipe.gates(&config).ok()?
}

/// The steps and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowCurriculumQuery {
    /// The first step.
    #[schemars(range(max = i32::MAX))]
    from: Option<u32>,
    /// The last step.
    #[schemars(range(max = i32::MAX))]
    to: Option<u32>,
    /// Maximum number of rows; 1000 by default.
    #[schemars(range(min = 1, max = 10_000))]
    points: Option<u32>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

/// The steps and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowScoresQuery {
    /// The first step.
    #[schemars(range(max = i32::MAX))]
    from: Option<u32>,
    /// The last step.
    #[schemars(range(max = i32::MAX))]
    to: Option<u32>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

/// All steps from `from` to `to`.
fn stretch(from: Option<u32>, to: Option<u32>) -> Stretch {
    let all = Stretch::whole(1);
    Stretch { from: from.unwrap_or(all.from), to: to.unwrap_or(all.to), ..all }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let growth = About::new("show_curriculum", "/runs/{id}/curriculum").says(
        "Show how a run's growing set grows, how its critic scores, and what its members score on benchmarks.",
        "The growing set over steps; as CSV without the benchmarks",
    );
    let growth = Endpoint::get(growth, "runs", show_curriculum).id("id", "The run").query::<ShowCurriculumQuery>();
    let growth = growth.answers::<Growth>().or_csv();
    let scores = About::new("show_scores", "/runs/{id}/curriculum/scores").says(
        "Show what became of the problems that a run's members proposed, by the critic's score, and how often \
                  it is right.",
        "Problems by score",
    );
    let scores = Endpoint::get(scores, "runs", show_scores).id("id", "The run").query::<ShowScoresQuery>();
    let scores = scores.answers::<Scores>().or_csv();
    vec![growth, scores]
}

async fn show_curriculum(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ShowCurriculumQuery>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let run = runs::find(lab.store.pool(), *id).await?;
    let steps = stretch(query.from, query.to);
    let last = steps.to.min(run.run.step.cast_unsigned());
    let level = level_for(last.saturating_sub(steps.from) + 1, query.points.unwrap_or(1000));
    let growth = Growth::read(&lab, &run, steps, level).await?;
    if query.format.unwrap_or_default() == Format::Json {
        return Ok(Answer::ok(growth).respond_to(&request));
    }
    let names: Vec<&str> = growth.metrics.iter().map(|metric| metric.name).collect();
    let mut text = format!("step,width,{}\n", names.join(","));
    for step in &growth.items {
        let value = |name: &&str| step.values.get(name).copied().flatten();
        let values: Vec<String> =
            names.iter().map(|name| value(name).map(|value| value.to_string()).unwrap_or_default()).collect();
        // Writing to a string never fails.
        let _ = writeln!(text, "{},{},{}", step.step, step.width, values.join(","));
    }
    Ok(csv(text))
}

async fn show_scores(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ShowScoresQuery>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let run = runs::find(lab.store.pool(), *id).await?;
    let scores = Scores::read(&lab, &run, stretch(query.from, query.to)).await?;
    if query.format.unwrap_or_default() == Format::Json {
        return Ok(Answer::ok(scores).respond_to(&request));
    }
    let mut text = "from,score,proposed,valid,admitted,known,right,right_share,low,high\n".to_owned();
    for bucket in &scores.items {
        let share = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{}",
            bucket.from,
            bucket.score,
            bucket.proposed,
            bucket.valid,
            bucket.admitted,
            bucket.known,
            bucket.right,
            share(bucket.right_share),
            share(bucket.low),
            share(bucket.high)
        );
    }
    Ok(csv(text))
}

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
            threshold: crate::subjects::curriculum::gates(lab, run).map(|gates| gates.question),
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
    let of_suites = usual_results(results).into_iter().filter(|result| result.suite != HELD_OUT_ROWS);
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
