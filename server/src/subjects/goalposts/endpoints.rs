//! Goalposts: which ones the checkpoints of runs solved when, and datasets of them.

use actix_web::{HttpRequest, HttpResponse, Responder as _, get, post, web};
use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    api::datasets::DatasetDetail,
    api_error::ApiError,
    contract::{
        Answer, Format, Query, bounds, csv,
        document::{Document, RequestBody},
        idempotent::{Begun, IdempotencyKey},
    },
    lab::Lab,
    subjects::goalposts::{self, GoalpostMap, RUNS, Wanted},
};

/// The goalposts and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunGoalpostsQuery {
    /// The dataset of goalposts; by default the one that was measured last.
    dataset: Option<Uuid>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

crate::contract::query!(RunGoalpostsQuery);

/// The runs, the goalposts and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoalpostsQuery {
    /// Ids of runs, separated by commas, at most 24. Those that differ by seed alone are one arm.
    #[schemars(length(min = 1, max = 2000))]
    runs: String,
    /// The dataset of goalposts; by default the one that was measured last.
    dataset: Option<Uuid>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

crate::contract::query!(GoalpostsQuery);

/// Goalposts to make.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeGoalposts {
    /// The new dataset's name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Finished evaluations of type `goalposts` of the same rows. A row is kept if none of their attempts solved it.
    #[schemars(length(min = 1, max = 64))]
    evaluations: Vec<Uuid>,
    /// Keep rows that ask what a benchmark asks, whose scores then mean nothing.
    #[serde(default)]
    allow_overlap: bool,
}

impl RequestBody for MakeGoalposts {}

/// Ids separated by commas, each once.
///
/// # Errors
/// 422 for something else, and for too many.
pub(crate) fn ids(text: &str) -> Result<Vec<Uuid>, ApiError> {
    let refused = |detail: String| ApiError::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let id: Uuid = one
            .parse()
            .map_err(|_| refused(format!("`{one}` is not the id of a run")))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0 => Err(refused("name at least one run".to_owned())),
        1..=RUNS => Ok(ids),
        count => Err(refused(format!("{count} runs: at most {RUNS} are valid"))),
    }
}

/// Show which goalposts a run's checkpoints solved when, and the untrained base with as many fresh attempts.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), RunGoalpostsQuery),
    responses((status = 200, description = "The map; as CSV a line for each goalpost and step at which it was solved",
        content((GoalpostMap = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/goalposts")]
pub(crate) async fn show_run_goalposts(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<RunGoalpostsQuery>,
) -> Result<HttpResponse, ApiError> {
    let RunGoalpostsQuery { dataset, format } = query.0;
    let ExecutionId(id) = *id;
    let map = goalposts::map(lab.store.pool(), &[id], dataset).await?;
    Ok(answer(&request, map, format))
}

/// Show which goalposts the checkpoints of several runs solved when, by arm, with the union over seeds.
#[utoipa::path(
    tag = "runs",
    params(GoalpostsQuery),
    responses((status = 200, description = "The map; as CSV a line for each arm, goalpost and step at which it was solved",
        content((GoalpostMap = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/goalposts")]
pub(crate) async fn show_goalposts(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<GoalpostsQuery>,
) -> Result<HttpResponse, ApiError> {
    let GoalpostsQuery { runs, dataset, format } = query.0;
    let map = goalposts::map(lab.store.pool(), &ids(&runs)?, dataset).await?;
    Ok(answer(&request, map, format))
}

fn answer(request: &HttpRequest, map: GoalpostMap, format: Option<Format>) -> HttpResponse {
    match format.unwrap_or_default() {
        Format::Json => Answer::ok(map).respond_to(request),
        Format::Csv => csv(map.to_csv()),
    }
}

/// Make a dataset of goalposts from the rows that no attempt of finished evaluations solved.
#[utoipa::path(
    tag = "datasets",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = MakeGoalposts,
    responses((status = 201, description = "The dataset", body = DatasetDetail)),
    security(("token" = ["write"]))
)]
#[post("/goalposts")]
pub(crate) async fn make_goalposts(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<MakeGoalposts>,
) -> Result<Answer<Value>, ApiError> {
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let asked = &sent.value;
    let wanted = Wanted {
        name: &asked.name,
        evaluations: &asked.evaluations,
        allow_overlap: asked.allow_overlap,
    };
    let made = goalposts::make(&mut creation.tx, wanted).await?;
    let made = DatasetDetail::of(&mut creation.tx, made).await?;
    creation.finish(&made, &made.location()).await
}
