//! Suites, leaderboards, and results of benchmark evaluations with their samples.

pub(crate) mod curves;
pub(super) mod export;
pub(crate) mod measured;
pub(super) mod pages;
pub(crate) mod score_table;
pub(super) mod table;

use actix_web::web;
use lyceum_core::benchmark::{self, CurvePoint, Spread, Suite};
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, BenchmarkFilter, BenchmarkResult, Repeat, SampleFilter};
use lyceum_store::datasets::{self, Dataset};
use lyceum_store::page::{self, Window};
use lyceum_store::{evaluations, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Filter, Query, bounds, list_within};
use crate::lab::Lab;

/// A suite of benchmarks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BenchmarkSuite {
    /// Its name.
    name: &'static str,
    /// Its display name.
    title: &'static str,
    /// The paper, and the rows it uses.
    source: &'static str,
    /// The average it contributes to: `code`, `math` or `held_out`.
    #[schema(value_type = String, example = "code")]
    group: benchmark::Group,
    /// Number of rows of the complete suite; none if releases differ.
    rows: Option<u32>,
    /// The default protocol of evaluations: `prompts`, `temperature`, `top_p`, `max_tokens`.
    #[schema(value_type = Object)]
    protocol: &'static benchmark::Protocol,
    /// The latest import.
    dataset: Option<Dataset>,
}

/// All suites.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BenchmarkSuites {
    /// The suites, in the order of the table's columns.
    items: Vec<BenchmarkSuite>,
}

/// The number of results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaderboardQuery {
    /// Number of results; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
}

/// Results, best first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Leaderboard {
    /// The best result of each member and each base, chosen on these rows.
    items: Vec<BenchmarkResult>,
}

impl Filter for OfSuite {
    /// Those of runs and of evaluations have the same cursors.
    fn list(&self, _: &str) -> String {
        "results".to_owned()
    }
}

impl Filter for SampleFilter {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let all = About::new("list_benchmarks", "/benchmarks").says("List the benchmark suites.", "All suites");
    let all = Endpoint::get(all, "benchmarks", list_benchmarks).answers::<BenchmarkSuites>();
    let leaders = About::new("show_leaderboard", "/benchmarks/{name}/leaderboard")
        .says("Show the best results on a suite, across all runs.", "Results, the best first");
    let leaders = Endpoint::get(leaders, "benchmarks", show_leaderboard);
    let leaders = leaders.name("name", "The suite").query::<LeaderboardQuery>().answers::<Leaderboard>();
    let find = async |db: &PgPool, id: ExecutionId| evaluations::find(db, id).await;
    let results_of_one = async |db: &PgPool, id: ExecutionId, asked: &OfSuite, window: &Window| {
        let of_one = BenchmarkFilter { evaluation: Some(id), ..BenchmarkFilter::default() };
        results(db, of_one, asked, window).await
    };
    let of_evaluation = About::new("list_evaluation_results", "/evaluations/{id}/results")
        .says("List the results of a benchmark evaluation, with pass@k curves.", "A page of results");
    let of_evaluation = list_within(of_evaluation, "benchmarks", find, results_of_one).id("id", "The evaluation");
    let find_run = async |db: &PgPool, id: ExecutionId| runs::find(db, id).await;
    let results_of_run = async |db: &PgPool, id: ExecutionId, asked: &OfSuite, window: &Window| {
        let of_run = BenchmarkFilter { run: Some(id), ..BenchmarkFilter::default() };
        results(db, of_run, asked, window).await
    };
    let of_run = About::new("list_run_results", "/runs/{id}/benchmarks")
        .says("List the benchmark results of a run's members at all steps, with pass@k curves.", "A page of results");
    let of_run = list_within(of_run, "benchmarks", find_run, results_of_run).id("id", "The run");
    let samples = About::new("list_samples", "/evaluations/{id}/samples")
        .says("List the samples of a benchmark evaluation.", "A page of samples");
    let samples = list_within(samples, "benchmarks", find, benchmarks::samples).id("id", "The evaluation");
    vec![all, leaders, of_evaluation, of_run, samples]
}

async fn list_benchmarks(lab: web::Data<Lab>) -> Result<Answer<BenchmarkSuites>, ApiError> {
    let items = suites(lab.store.pool()).await?;
    Ok(Answer::ok(BenchmarkSuites { items }))
}

/// All suites with their newest imports.
async fn suites(db: &PgPool) -> Result<Vec<BenchmarkSuite>, ApiError> {
    let mut db = db.acquire().await.map_err(lyceum_store::StoreError::from)?;
    let mut items = Vec::new();
    for suite in benchmark::shipped_suites() {
        items.push(described(suite, datasets::newest_of_suite(&mut db, &suite.name).await?));
    }
    Ok(items)
}

fn described(suite: &'static Suite, dataset: Option<Dataset>) -> BenchmarkSuite {
    BenchmarkSuite {
        name: &suite.name,
        title: &suite.title,
        source: &suite.source,
        group: suite.group,
        rows: suite.rows,
        protocol: &suite.protocol,
        dataset,
    }
}

async fn show_leaderboard(
    lab: web::Data<Lab>,
    name: web::Path<String>,
    query: Query<LeaderboardQuery>,
) -> Result<Answer<Leaderboard>, ApiError> {
    let suite = benchmark::suite(&name);
    // Postgres has no such text.
    if let (Err(unknown), true) = (&suite, name.contains('\0')) {
        return Err(ApiError::not_found(unknown.to_string()));
    }
    let limit = query.0.limit.unwrap_or(crate::contract::DEFAULT_LIMIT);
    let suite_name = suite.as_ref().map_or(name.as_str(), |suite| &suite.name);
    let items = benchmarks::leaderboard(lab.store.pool(), suite_name, limit).await?;
    match suite {
        Err(unknown) if items.is_empty() => Err(ApiError::not_found(unknown.to_string())),
        _ => Ok(Answer::ok(Leaderboard { items })),
    }
}

/// A result with its pass@k curves.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResultWithCurve {
    #[serde(flatten)]
    result: BenchmarkResult,
    /// pass@k over k: points with `k`, `pass_at_k` and `standard_error`.
    #[schema(value_type = Vec<Object>)]
    curve: Vec<CurvePoint>,
    /// The same with the tests of the base benchmark only (EvalPlus).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    base_curve: Option<Vec<CurvePoint>>,
    /// Rows with a correct sample.
    solved: u64,
    /// Over the n repeats of the whole suite: `count`, `mean` of pass@1, `std`, `standard_error`, `min`, `max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    repeats: Option<Spread>,
}

impl ResultWithCurve {
    fn new(result: BenchmarkResult, repeats: &[Repeat]) -> Self {
        let score = result.score();
        let own = repeats.iter().filter(|repeat| {
            (repeat.evaluation_id, repeat.subject) == (result.evaluation_id, result.subject)
                && repeat.suite == result.suite
        });
        let shares: Vec<f64> = own.map(|repeat| repeat.share).collect();
        Self {
            repeats: Spread::of(&shares).filter(|spread| spread.count > 1),
            curve: score.curve(),
            solved: score.solved(),
            base_curve: result.base_score().map(|score| score.curve()),
            result,
        }
    }
}

/// Selects results.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfSuite {
    /// On this suite.
    #[schemars(length(max = 200))]
    suite: Option<String>,
}

/// Results with their curves.
async fn results(
    db: &PgPool,
    filter: BenchmarkFilter,
    asked: &OfSuite,
    window: &Window,
) -> lyceum_store::Result<page::Page<ResultWithCurve>> {
    let filter = BenchmarkFilter { suite: asked.suite.clone(), ..filter };
    let page = benchmarks::results(db, &filter, window).await?;
    let evaluations: Vec<_> = page.items.iter().map(|result| result.evaluation_id).collect();
    let repeats = benchmarks::repeats(db, &evaluations).await?;
    let with_curve = |result| ResultWithCurve::new(result, &repeats);
    Ok(page::Page { items: page.items.into_iter().map(with_curve).collect(), next: page.next })
}
