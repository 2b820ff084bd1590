//! What evaluations on benchmarks came to, the samples behind it, and both in other tools' formats.

use actix_web::{HttpRequest, HttpResponse, get, web};
use lyceum_core::{
    benchmark::{self, BenchmarkRow, CurvePoint, Spread, evalplus, lm_eval},
    id::{DatasetId, ExecutionId},
};
use lyceum_store::{
    dataset,
    list::{self, BenchmarkFilter, BenchmarkResult, BenchmarkSample, Repeat, SampleFilter},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    Api,
    answer::Answer,
    page::{Listing, Order, Page},
    query::Query,
};
use crate::problem::Problem;

/// A result with its pass@k curves.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResultWithCurve {
    #[serde(flatten)]
    result: BenchmarkResult,
    /// pass@k over k: points of `k`, `pass_at_k` and `standard_error`.
    #[schema(value_type = Vec<Object>)]
    curve: Vec<CurvePoint>,
    /// The same by the tests of the base benchmark alone (EvalPlus).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    base_curve: Option<Vec<CurvePoint>>,
    /// Rows with a right sample.
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

/// Which results.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListResultsQuery {
    /// On this suite.
    #[schemars(length(max = 200))]
    #[param(max_length = 200)]
    suite: Option<String>,
    /// Rows of the page; 50 where it is left out.
    #[schemars(range(min = 1, max = 100))]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    #[param(inline)]
    order: Option<Order>,
}

/// Which samples.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListSamplesQuery {
    /// On this suite.
    #[schemars(length(max = 200))]
    #[param(max_length = 200)]
    suite: Option<String>,
    /// Of this subject of the evaluation, from 0.
    #[schemars(range(max = 2_147_483_647))]
    #[param(maximum = 2_147_483_647_u32)]
    subject: Option<u32>,
    /// Of this task.
    #[schemars(length(max = 500))]
    #[param(max_length = 500)]
    task: Option<String>,
    /// Right ones, or wrong ones.
    correct: Option<bool>,
    /// Rows of the page; 50 where it is left out.
    #[schemars(range(min = 1, max = 100))]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    #[param(inline)]
    order: Option<Order>,
}

/// A format of other tools.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// Samples as `evalplus.evaluate --samples` reads them.
    #[default]
    Evalplus,
    /// Results as lm-evaluation-harness writes them with `--output_path`.
    LmEvalResults,
    /// Samples as it writes them with `--log_samples`.
    LmEvalSamples,
}

/// What to export.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// `evalplus` (the default), `lm_eval_results` or `lm_eval_samples`.
    #[param(inline)]
    format: Option<ExportFormat>,
    /// The suite; the evaluation's first where it is left out.
    #[schemars(length(max = 200))]
    #[param(max_length = 200)]
    suite: Option<String>,
    /// The subject of the evaluation, from 0; the first where it is left out.
    #[schemars(range(max = 2_147_483_647))]
    #[param(maximum = 2_147_483_647_u32)]
    subject: Option<u32>,
}

/// List what an evaluation on benchmarks came to, with pass@k curves.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The evaluation"), ListResultsQuery),
    responses((status = 200, description = "A page of results", body = Page<ResultWithCurve>)),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/results")]
pub(crate) async fn list_evaluation_results(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListResultsQuery>,
) -> Result<Answer<Page<ResultWithCurve>>, Problem> {
    list::evaluation(api.store.pool(), *id).await?;
    let filter = BenchmarkFilter {
        evaluation: Some(*id),
        ..BenchmarkFilter::default()
    };
    results(&request, &api, filter, query.0).await
}

/// List what a run's members came to on benchmarks, at any step, with pass@k curves.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The run"), ListResultsQuery),
    responses((status = 200, description = "A page of results", body = Page<ResultWithCurve>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/benchmarks")]
pub(crate) async fn list_run_results(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListResultsQuery>,
) -> Result<Answer<Page<ResultWithCurve>>, Problem> {
    list::run(api.store.pool(), *id).await?;
    let filter = BenchmarkFilter {
        run: Some(*id),
        ..BenchmarkFilter::default()
    };
    results(&request, &api, filter, query.0).await
}

async fn results(
    request: &HttpRequest,
    api: &Api,
    filter: BenchmarkFilter,
    query: ListResultsQuery,
) -> Result<Answer<Page<ResultWithCurve>>, Problem> {
    let listing = Listing::new("results", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = BenchmarkFilter {
        suite: query.suite,
        ..filter
    };
    let page = list::benchmark_results(api.store.pool(), &filter, listing.window()).await?;
    let evaluations: Vec<_> = page.items.iter().map(|result| result.evaluation_id).collect();
    let repeats = list::repeats(api.store.pool(), &evaluations).await?;
    let with_curve = |result| ResultWithCurve::new(result, &repeats);
    let page = list::Page {
        items: page.items.into_iter().map(with_curve).collect(),
        next: page.next,
    };
    Ok(listing.answer(request, page))
}

/// List the samples of an evaluation on benchmarks.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The evaluation"), ListSamplesQuery),
    responses((status = 200, description = "A page of samples", body = Page<BenchmarkSample>)),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/samples")]
pub(crate) async fn list_samples(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListSamplesQuery>,
) -> Result<Answer<Page<BenchmarkSample>>, Problem> {
    let query = query.0;
    let listing = Listing::new("samples", query.limit, query.cursor.as_deref(), query.order)?;
    list::evaluation(api.store.pool(), *id).await?;
    let filter = SampleFilter {
        suite: query.suite,
        subject: query.subject,
        task_id: query.task,
        correct: query.correct,
    };
    let page = list::benchmark_samples(api.store.pool(), *id, &filter, listing.window()).await?;
    Ok(listing.answer(&request, page))
}

/// Export what an evaluation on benchmarks came to in another tool's format.
#[utoipa::path(
    tag = "benchmarks",
    params(("id" = Uuid, Path, description = "The evaluation"), ExportQuery),
    responses((status = 200, description = "A file: JSON for results, a JSON object a line for samples", body = String,
        content_type = "application/x-ndjson")),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/export")]
pub(crate) async fn export_evaluation(
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ExportQuery>,
) -> Result<HttpResponse, Problem> {
    let db = api.store.pool();
    list::evaluation(db, *id).await?;
    let query = query.0;
    let subject = query.subject.unwrap_or(0);
    let result = find(&api, *id, query.suite.as_deref(), subject).await?;
    let samples = list::samples_of_subject(db, *id, &result.suite, subject).await?;
    let format = query.format.unwrap_or_default();
    let text = match format {
        ExportFormat::Evalplus => lines(
            samples
                .iter()
                .map(|sample| evalplus::line(&sample.task_id, sample.solution.as_deref().unwrap_or_default())),
        ),
        ExportFormat::LmEvalResults => lm_eval_results(&result)?,
        ExportFormat::LmEvalSamples => {
            let dataset = result.dataset_id.map(DatasetId);
            let dataset = dataset.ok_or_else(|| Problem::not_found("the rows of this result were deleted"))?;
            let rows = dataset::slice(db, dataset, 0, result.rows.cast_unsigned()).await?;
            let rows: Result<Vec<BenchmarkRow>, _> = rows.into_iter().map(serde_json::from_value).collect();
            lm_eval_samples(&rows.map_err(|error| Problem::internal(&error))?, &samples)
        }
    };
    let content_type = match format {
        ExportFormat::LmEvalResults => "application/json",
        ExportFormat::Evalplus | ExportFormat::LmEvalSamples => "application/x-ndjson",
    };
    Ok(HttpResponse::Ok().content_type(content_type).body(text))
}

async fn find(api: &Api, id: ExecutionId, suite: Option<&str>, subject: u32) -> Result<BenchmarkResult, Problem> {
    let first = list::Window {
        limit: 1,
        after: None,
        order: list::Order::Oldest,
    };
    let filter = BenchmarkFilter {
        evaluation: Some(id),
        suite: suite.map(str::to_owned),
        subject: Some(subject),
        ..BenchmarkFilter::default()
    };
    let found = list::benchmark_results(api.store.pool(), &filter, &first).await?;
    found.items.into_iter().next().ok_or_else(|| {
        let suite = suite.map(|name| format!(" on `{name}`")).unwrap_or_default();
        Problem::not_found(format!("evaluation {id} has no result of subject {subject}{suite}"))
    })
}

fn lines(values: impl Iterator<Item = serde_json::Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

fn lm_eval_results(result: &BenchmarkResult) -> Result<String, Problem> {
    let suite = benchmark::suite(&result.suite).map_err(|unknown| Problem::not_found(unknown.to_string()))?;
    let number = |name: &str| result.protocol[name].as_f64();
    let protocol = benchmark::Protocol {
        prompts: result.protocol["prompts"].as_str().unwrap_or_default().to_owned(),
        temperature: number("temperature").unwrap_or_default(),
        top_p: number("top_p").unwrap_or(1.0),
        max_tokens: result.protocol["max_tokens"]
            .as_u64()
            .and_then(|tokens| tokens.try_into().ok())
            .unwrap_or_default(),
    };
    let measured = lm_eval::Measured {
        suite,
        model: match result.member_id {
            Some(_) => format!("{},peft={}", result.base_model, result.name),
            None => result.base_model.clone(),
        },
        protocol: &protocol,
        n: result.n.cast_unsigned(),
        seed: result.protocol["seed"]
            .as_str()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_default(),
        date: result.created_at.timestamp_millis() as f64 / 1e3,
    };
    serde_json::to_string_pretty(&lm_eval::results(&measured, &result.score()))
        .map_err(|error| Problem::internal(&error))
}

fn lm_eval_samples(rows: &[BenchmarkRow], samples: &[BenchmarkSample]) -> String {
    let of_rows = samples.chunk_by(|a, b| a.row == b.row).filter_map(|samples| {
        let index = samples.first()?.row.cast_unsigned();
        Some(lm_eval::sample(&lm_eval::Answered {
            index,
            row: rows.get(index as usize)?,
            responses: samples.iter().map(|sample| sample.text.as_str()).collect(),
            solutions: samples
                .iter()
                .map(|sample| sample.solution.as_deref().unwrap_or_default())
                .collect(),
            correct: samples.iter().filter(|sample| sample.correct).count() as u32,
        }))
    });
    lines(of_rows)
}
