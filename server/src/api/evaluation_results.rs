//! Results of benchmark evaluations and their samples.

use actix_web::{HttpRequest, get, web};
use lyceum_core::{
    benchmark::{CurvePoint, Spread},
    id::ExecutionId,
};
use lyceum_store::{
    benchmarks::{self, BenchmarkFilter, BenchmarkResult, BenchmarkSample, Repeat, SampleFilter},
    evaluations, page, runs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::{Answer, Listing, Order, Page, Query, bounds},
    lab::Lab,
};

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

/// Filters of results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListResultsQuery {
    /// On this suite.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListResultsQuery);

/// Filters of samples.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSamplesQuery {
    /// On this suite.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Of the evaluation's subject with this index, from 0.
    #[schemars(range(max = i32::MAX))]
    subject: Option<u32>,
    /// Of this task.
    #[schemars(length(max = 500))]
    task: Option<String>,
    /// `true` for correct samples, `false` for wrong ones.
    correct: Option<bool>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListSamplesQuery);

/// List the results of a benchmark evaluation, with pass@k curves.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The evaluation"), ListResultsQuery),
    responses((status = 200, description = "A page of results", body = Page<ResultWithCurve>)),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/results")]
pub(crate) async fn list_evaluation_results(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ListResultsQuery>,
) -> Result<Answer<Page<ResultWithCurve>>, ApiError> {
    evaluations::find(lab.store.pool(), *id).await?;
    let filter = BenchmarkFilter {
        evaluation: Some(*id),
        ..BenchmarkFilter::default()
    };
    results(&request, &lab, filter, query.0).await
}

/// List the benchmark results of a run's members at all steps, with pass@k curves.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The run"), ListResultsQuery),
    responses((status = 200, description = "A page of results", body = Page<ResultWithCurve>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/benchmarks")]
pub(crate) async fn list_run_results(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ListResultsQuery>,
) -> Result<Answer<Page<ResultWithCurve>>, ApiError> {
    runs::find(lab.store.pool(), *id).await?;
    let filter = BenchmarkFilter {
        run: Some(*id),
        ..BenchmarkFilter::default()
    };
    results(&request, &lab, filter, query.0).await
}

async fn results(
    request: &HttpRequest,
    lab: &Lab,
    filter: BenchmarkFilter,
    query: ListResultsQuery,
) -> Result<Answer<Page<ResultWithCurve>>, ApiError> {
    let listing = Listing::new("results", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = BenchmarkFilter {
        suite: query.suite,
        ..filter
    };
    let page = benchmarks::results(lab.store.pool(), &filter, listing.window()).await?;
    let evaluations: Vec<_> = page.items.iter().map(|result| result.evaluation_id).collect();
    let repeats = benchmarks::repeats(lab.store.pool(), &evaluations).await?;
    let with_curve = |result| ResultWithCurve::new(result, &repeats);
    let page = page::Page {
        items: page.items.into_iter().map(with_curve).collect(),
        next: page.next,
    };
    Ok(listing.answer(request, page))
}

/// List the samples of a benchmark evaluation.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The evaluation"), ListSamplesQuery),
    responses((status = 200, description = "A page of samples", body = Page<BenchmarkSample>)),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/samples")]
pub(crate) async fn list_samples(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ListSamplesQuery>,
) -> Result<Answer<Page<BenchmarkSample>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("samples", query.limit, query.cursor.as_deref(), query.order)?;
    evaluations::find(lab.store.pool(), *id).await?;
    let filter = SampleFilter {
        suite: query.suite,
        subject: query.subject,
        task_id: query.task,
        correct: query.correct,
    };
    let page = benchmarks::samples(lab.store.pool(), *id, &filter, listing.window()).await?;
    Ok(listing.answer(&request, page))
}
