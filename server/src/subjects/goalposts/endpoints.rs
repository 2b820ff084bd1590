//! The maps of goalposts, and datasets of goalposts made from problems.

use actix_web::{HttpRequest, HttpResponse, Responder as _, web};
use lyceum_core::dataset::Purpose;
use lyceum_core::fault::Fault;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{GoalpostParameters, GoalpostsResult};
use lyceum_store::datasets::{self, Dataset, NewDataset};
use lyceum_store::evaluations::{self, Evaluation};
use lyceum_store::executions::State;
use lyceum_store::{StoreError, goalposts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::PgConnection;
use std::collections::BTreeSet;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Format, Query, bounds, csv};
use crate::lab::Lab;
use crate::subjects::datasets::DatasetDetail;
use crate::subjects::goalposts::{GoalpostMap, RUNS, map};

/// The goalposts and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunGoalpostsQuery {
    /// The dataset of goalposts; by default the one that was measured last.
    dataset: Option<Uuid>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

/// The runs, the goalposts and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoalpostsQuery {
    /// Ids of runs, separated by commas, at most 24. Those that differ only by seed are one arm.
    #[schemars(length(min = 1, max = 2000))]
    runs: String,
    /// The dataset of goalposts; by default the one that was measured last.
    dataset: Option<Uuid>,
    /// `json` (the default) or `csv`.
    format: Option<Format>,
}

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
        let id: Uuid = one.parse().map_err(|_| refused(format!("`{one}` is not the id of a run")))?;
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

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let of_run = About::new("show_run_goalposts", "/runs/{id}/goalposts").says(
        "Show which goalposts a run's checkpoints solved when, and the untrained base with as many fresh \
                  attempts.",
        "The map; as CSV a line for each goalpost and step at which it was solved",
    );
    let of_run = Endpoint::get(of_run, "runs", show_run_goalposts).id("id", "The run").query::<RunGoalpostsQuery>();
    let of_run = of_run.answers::<GoalpostMap>().or_csv();
    let map = About::new("show_goalposts", "/goalposts").says(
        "Show which goalposts the checkpoints of several runs solved when, by arm, with the union over seeds.",
        "The map; as CSV a line for each arm, goalpost and step at which it was solved",
    );
    let map = Endpoint::get(map, "runs", show_goalposts).query::<GoalpostsQuery>().answers::<GoalpostMap>().or_csv();
    let make = About::new("make_goalposts", "/goalposts").says(
        "Make a dataset of goalposts from the rows that no attempt of finished evaluations solved.",
        "The dataset",
    );
    let make = Endpoint::post(make, "datasets", make_goalposts).idempotent().takes::<MakeGoalposts>();
    let make = make.creates::<DatasetDetail>();
    vec![of_run, map, make]
}

async fn show_run_goalposts(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<RunGoalpostsQuery>,
) -> Result<HttpResponse, ApiError> {
    let RunGoalpostsQuery { dataset, format } = query.0;
    let ExecutionId(id) = *id;
    let found = map(lab.store.pool(), &[id], dataset).await?;
    Ok(answer(&request, found, format))
}

async fn show_goalposts(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<GoalpostsQuery>,
) -> Result<HttpResponse, ApiError> {
    let GoalpostsQuery { runs, dataset, format } = query.0;
    let found = map(lab.store.pool(), &ids(&runs)?, dataset).await?;
    Ok(answer(&request, found, format))
}

fn answer(request: &HttpRequest, map: GoalpostMap, format: Option<Format>) -> HttpResponse {
    match format.unwrap_or_default() {
        Format::Json => Answer::ok(map).respond_to(request),
        Format::Csv => csv(map.to_csv()),
    }
}

async fn make_goalposts(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<MakeGoalposts>,
) -> Result<Answer<Value>, ApiError> {
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let asked = &sent.value;
    let wanted = Wanted { name: &asked.name, evaluations: &asked.evaluations, allow_overlap: asked.allow_overlap };
    let made = make(&mut creation.tx, wanted).await?;
    let made = DatasetDetail::of(&mut creation.tx, made).await?;
    creation.finish(&made, &made.location()).await
}

/// Goalposts to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The new dataset's name.
    pub(crate) name: &'a str,
    /// The evaluations that filter.
    pub(crate) evaluations: &'a [Uuid],
    /// Whether rows may ask what a benchmark asks.
    pub(crate) allow_overlap: bool,
}

/// The rows of an evaluation that were attempted, and those that were solved.
struct Filter {
    id: Uuid,
    parameters: GoalpostParameters,
    result: GoalpostsResult,
    solved: BTreeSet<u32>,
}

/// Writes the dataset, with its provenance.
///
/// # Errors
/// 422 for evaluations that cannot filter, if no row is left, and for rows of a benchmark.
pub(crate) async fn make(db: &mut PgConnection, asked: Wanted<'_>) -> Result<Dataset, ApiError> {
    let mut filters: Vec<Filter> = Vec::new();
    let mut faults = Vec::new();
    for (place, id) in asked.evaluations.iter().enumerate() {
        let pointer = format!("/evaluations/{place}");
        match filter(&mut *db, *id).await? {
            Ok(found) => match filters.first().and_then(|first| misfit(first, &found)) {
                Some(detail) => faults.push(Fault::new(pointer, detail)),
                None => filters.push(found),
            },
            Err(detail) => faults.push(Fault::new(pointer, detail)),
        }
    }
    let (true, Some(first)) = (faults.is_empty(), filters.first()) else { return Err(ApiError::invalid(faults)) };
    let problems = &first.parameters.problems;
    let source = match datasets::find(&mut *db, problems.dataset).await {
        Err(StoreError::NotFound { .. }) => {
            let detail = "the dataset with the rows that it attempted has been deleted";
            return Err(ApiError::invalid(vec![Fault::new("/evaluations/0", detail)]));
        }
        found => found?,
    };
    let rows = datasets::slice(&mut *db, problems.dataset, 0, problems.rows).await?;
    let is_solved = |place: &u32| filters.iter().any(|filter| filter.solved.contains(place));
    let (places, kept): (Vec<u32>, Vec<Value>) = (0..).zip(rows).filter(|(place, _)| !is_solved(place)).unzip();
    if kept.is_empty() {
        let detail = format!(
            "each of the {} rows of dataset `{}` was solved at least once, so none is left: start from harder rows",
            problems.rows, source.name
        );
        return Err(ApiError::invalid(vec![Fault::new("/evaluations", detail)]));
    }
    let new = NewDataset {
        name: asked.name,
        purpose: Purpose::Goalposts,
        suite: None,
        source: &format!("rows of `{}` that no attempt solved", source.name),
        revision: Some(&source.sha256),
        rows: &kept,
    };
    let made = datasets::create(&mut *db, &new).await?;
    let id = DatasetId(made.id);
    if !asked.allow_overlap {
        let overlaps = datasets::overlaps(&mut *db, id).await?;
        let faults: Vec<Fault> = overlaps.iter().filter(|overlap| overlap.purpose == Purpose::Benchmark).map(|overlap| {
                let detail = format!(
                    "{} of the rows ask what the benchmark `{}` asks, whose scores would mean nothing: start from rows without \
                     them, or set `allow_overlap`",
                    overlap.rows, overlap.name
                );
                Fault::new("/allow_overlap", detail)
            })
            .collect();
        if !faults.is_empty() {
            return Err(ApiError::invalid(faults));
        }
    }
    Ok(datasets::set_provenance(db, id, &provenance(&source, &filters, &places)).await?)
}

/// The evaluation as a filter, or why it is none.
async fn filter(db: &mut PgConnection, id: Uuid) -> Result<Result<Filter, String>, StoreError> {
    let Evaluation { spec, state, result, .. } = match evaluations::find(&mut *db, ExecutionId(id)).await {
        Err(error @ StoreError::NotFound { .. }) => return Ok(Err(error.to_string())),
        found => found?,
    };
    if spec["type"] != "goalposts" {
        let kind = spec["type"].as_str().unwrap_or_default();
        return Ok(Err(format!("evaluation {id} is of type `{kind}`: `goalposts` is valid")));
    }
    if state != State::Completed {
        return Ok(Err(format!("evaluation {id} is {}: a completed one is valid", state.name())));
    }
    let parameters = evaluations::parameters(&mut *db, ExecutionId(id)).await?;
    let parameters = GoalpostParameters::deserialize(parameters);
    let result = GoalpostsResult::deserialize(result.unwrap_or_default());
    let (Ok(parameters), Ok(result)) = (parameters, result) else {
        return Ok(Err(format!("the result of evaluation {id} cannot be read")));
    };
    let mut solved = BTreeSet::new();
    for counts in goalposts::of_evaluation(db, ExecutionId(id)).await? {
        let attempted = counts.attempted();
        let places = (attempted.first_row..).zip(attempted.correct);
        solved.extend(places.filter(|(_, correct)| *correct > 0).map(|(place, _)| place));
    }
    Ok(Ok(Filter { id, parameters, result, solved }))
}

/// Why the rows of two evaluations are not the same.
fn misfit(first: &Filter, other: &Filter) -> Option<String> {
    let rows = |filter: &Filter| (filter.parameters.problems.dataset, filter.parameters.problems.rows);
    (rows(first) != rows(other)).then(|| {
        format!(
            "evaluation {} attempted {} rows of dataset {}, and {} attempted {} rows of dataset {}: the same rows are valid",
            other.id,
            rows(other).1,
            rows(other).0,
            first.id,
            rows(first).1,
            rows(first).0
        )
    })
}

/// What a dataset's page says of its origin.
fn provenance(source: &Dataset, filters: &[Filter], kept: &[u32]) -> Value {
    let evaluations = filters.iter().map(|filter| {
        let protocol = &filter.parameters.problems.protocol;
        json!({
            "evaluation": filter.id,
            "n": filter.parameters.n,
            "temperature": protocol.temperature,
            "top_p": protocol.top_p,
            "prompts": protocol.prompts,
            "max_tokens": protocol.max_tokens,
            "solved": filter.solved.len(),
            "subjects": filter.result.subjects,
        })
    });
    json!({
        "dataset": {"id": source.id, "name": source.name, "sha256": source.sha256},
        "rows": filters.first().map_or(0, |filter| filter.parameters.problems.rows),
        "kept": kept,
        "evaluations": evaluations.collect::<Vec<_>>(),
    })
}
