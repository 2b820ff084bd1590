//! How a run's growing set grows, and how good the scores are that decide what joins it.

use actix_web::{HttpRequest, HttpResponse, Responder as _, get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::{runs, steps::Stretch};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write as _;

use crate::{
    api::level_for,
    api_error::ApiError,
    contract::{Answer, Format, Query, csv},
    lab::Lab,
    subjects::curriculum::{Growth, Scores},
};

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

crate::contract::query!(ShowCurriculumQuery);

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

crate::contract::query!(ShowScoresQuery);

/// All steps from `from` to `to`.
fn stretch(from: Option<u32>, to: Option<u32>) -> Stretch {
    let all = Stretch::whole(1);
    Stretch {
        from: from.unwrap_or(all.from),
        to: to.unwrap_or(all.to),
        ..all
    }
}

/// Show how a run's growing set grows, how its critic scores, and what its members score on benchmarks.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ShowCurriculumQuery),
    responses((status = 200, description = "The growing set over steps; as CSV without the benchmarks",
        content((Growth = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/curriculum")]
pub(crate) async fn show_curriculum(
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
        let values: Vec<String> = names
            .iter()
            .map(|name| value(name).map(|value| value.to_string()).unwrap_or_default())
            .collect();
        // Writing to a string never fails.
        let _ = writeln!(text, "{},{},{}", step.step, step.width, values.join(","));
    }
    Ok(csv(text))
}

/// Show what became of the problems that a run's members proposed, by the critic's score, and how often it is right.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ShowScoresQuery),
    responses((status = 200, description = "Problems by score",
        content((Scores = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/curriculum/scores")]
pub(crate) async fn show_scores(
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
