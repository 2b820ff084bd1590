//! The papers' table of a run, and the step at which each task was first solved.

use actix_web::{HttpResponse, web};
use lyceum_core::benchmark;
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, BenchmarkResult, RunResult};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query};
use crate::lab::Lab;
use crate::subjects::benchmarks::measured::measured;

/// The format of a table.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TableFormat {
    /// JSON.
    #[default]
    Json,
    /// CSV with a line for each subject and suite.
    Csv,
    /// Markdown, in percent, as in papers.
    Markdown,
}

/// The table requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableQuery {
    /// The members after this many steps; by default the latest measured.
    #[schemars(range(max = i32::MAX))]
    step: Option<u32>,
    /// A run whose latest measured members are the baseline.
    baseline: Option<Uuid>,
    /// `json` (the default), `csv` or `markdown`.
    format: Option<TableFormat>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let table = About::new("show_table", "/runs/{id}/benchmarks/table").says(
        "Show the table of a run: every member, mean, deviation, worst and best, and averages, next to base \
                  and baseline.",
        "The table: `suites`, `rows`, `summaries`, `best_student`, `best_teacher`, `notes`; or the same as \
                 text",
    );
    let table = Endpoint::get(table, "benchmarks", show_table).id("id", "The run").query::<TableQuery>();
    let table = table.answers_object().or_csv().or_text("text/markdown");
    let results = About::new("show_results", "/runs/{id}/results").says(
        "Show the results of a run: the mean over the members that solve, for every suite, row set and \
                  decoding after every measured step, with the paired difference from the base on the same rows. A \
                  fork's begin with those of its past.",
        "Its results",
    );
    let results = Endpoint::get(results, "benchmarks", show_results).id("id", "The run").answers::<RunResults>();
    let solved = About::new("show_solved", "/runs/{id}/benchmarks/solved")
        .says("Show the tasks of a suite solved at each step of a run.", "Solved tasks by step");
    let solved = Endpoint::get(solved, "benchmarks", show_solved).id("id", "The run").query::<SolvedQuery>();
    let solved = solved.answers::<SolvedBySteps>();
    vec![table, results, solved]
}

async fn show_table(
    request: actix_web::HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<TableQuery>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let db = lab.store.pool();
    runs::find(db, *id).await?;
    let table = measured(db, *id, query.step, query.baseline.map(ExecutionId)).await?.table;
    let written = match query.format.unwrap_or_default() {
        TableFormat::Json => return Ok(actix_web::Responder::respond_to(Answer::ok(table), &request)),
        TableFormat::Csv => ("text/csv; charset=utf-8", table.to_csv()),
        TableFormat::Markdown => ("text/markdown; charset=utf-8", table.to_markdown()),
    };
    Ok(HttpResponse::Ok().content_type(written.0).body(written.1))
}

/// Results of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunResults {
    /// By suite, row set, decoding and step.
    items: Vec<RunResult>,
}

async fn show_results(lab: web::Data<Lab>, id: web::Path<ExecutionId>) -> Result<Answer<RunResults>, ApiError> {
    let db = lab.store.pool();
    runs::find(db, *id).await?;
    Ok(Answer::ok(RunResults { items: benchmarks::run_results(db, *id).await? }))
}

/// The suite requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SolvedQuery {
    /// The suite; by default the first one the run was measured on.
    #[schemars(length(max = 200))]
    suite: Option<String>,
}

/// The tasks solved by members, by step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SolvedBySteps {
    /// The suite.
    suite: String,
    /// Rows of the suite.
    rows: usize,
    /// For each row the first step at which a sample of any member solved it; none if there is no such step.
    first_solved: Vec<Option<i32>>,
    /// The tasks solved at each step.
    steps: Vec<SolvedAtStep>,
}

/// The tasks solved by the members of one step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SolvedAtStep {
    /// Finished steps of the run.
    step: i32,
    /// Members measured.
    members: u32,
    /// Rows solved by any of them.
    solved: usize,
    /// Correct samples of all of them, by row.
    correct: Vec<i64>,
    /// Samples of all of them, by row.
    samples: Vec<i64>,
}

async fn show_solved(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<SolvedQuery>,
) -> Result<Answer<SolvedBySteps>, ApiError> {
    let db = lab.store.pool();
    runs::find(db, *id).await?;
    let asked = query.0.suite.as_deref().map(|name| (name, benchmark::suite(name)));
    let suite = match &asked {
        Some((_, Ok(known))) => known.name.clone(),
        Some((name, Err(_))) => (*name).to_owned(),
        None => {
            let first = benchmarks::population_results(db, *id, None).await?.into_iter().next();
            first.map(|result| result.suite).unwrap_or_default()
        }
    };
    let results = benchmarks::results_by_step(db, *id, &suite).await?;
    if let Some((_, Err(unknown))) = asked
        && results.is_empty()
    {
        return Err(ApiError::invalid_query(vec![("suite".to_owned(), unknown.to_string())]));
    }
    let rows = results.iter().map(|result| result.correct.len()).max().unwrap_or(0);
    let mut first_solved = vec![None; rows];
    let mut steps = Vec::new();
    for of_step in results.chunk_by(|a, b| a.step == b.step) {
        let step = of_step[0].step.unwrap_or_default();
        let sum = |counts: fn(&BenchmarkResult) -> &[i32]| -> Vec<i64> {
            let at =
                |row: usize| of_step.iter().filter_map(|result| counts(result).get(row)).map(|&n| i64::from(n)).sum();
            (0..rows).map(at).collect()
        };
        let (correct, samples) = (sum(|result| &result.correct), sum(|result| &result.samples));
        for (first, &correct) in first_solved.iter_mut().zip(&correct) {
            if correct > 0 && first.is_none() {
                *first = Some(step);
            }
        }
        steps.push(SolvedAtStep {
            step,
            members: of_step.len() as u32,
            solved: correct.iter().filter(|&&correct| correct > 0).count(),
            correct,
            samples,
        });
    }
    Ok(Answer::ok(SolvedBySteps { suite, rows, first_solved, steps }))
}
