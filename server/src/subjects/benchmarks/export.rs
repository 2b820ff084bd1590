//! Export of evaluations: benchmarks in formats of other tools, others as CSV.

use actix_web::{HttpResponse, web};
use lyceum_core::benchmark::{self, BenchmarkRow, export};
use lyceum_core::dataset::problem;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{FrozenSideResult, GoalpostsResult, RegenerateResult};
use lyceum_core::retention::RetentionResult;
use lyceum_store::benchmarks::{self, BenchmarkFilter, BenchmarkResult, BenchmarkSample};
use lyceum_store::evaluations::{self, Evaluation};
use lyceum_store::{datasets, page};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Write as _;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::file_body::{Turn, file_body};
use crate::contract::{About, Endpoint, Query};
use crate::lab::Lab;

/// The format of an export.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// Samples for `evalplus.evaluate --samples`.
    Evalplus,
    /// Results in the format of lm-evaluation-harness' `--output_path`.
    LmEvalResults,
    /// Samples in the format of its `--log_samples`.
    LmEvalSamples,
    /// The result of an evaluation of another type than `benchmark`, as CSV.
    Csv,
}

/// What to export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    /// `evalplus` (the default), `lm_eval_results` or `lm_eval_samples` for a benchmark; `csv` for other types.
    format: Option<ExportFormat>,
    /// The suite; by default the evaluation's first.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// The index of the evaluation's subject, from 0; by default the first.
    #[schemars(range(max = i32::MAX))]
    subject: Option<u32>,
}

impl ExportQuery {
    /// Checks that evaluations of type `kind` have what is asked for.
    fn check(&self, kind: &str) -> Result<(), ApiError> {
        let is_csv = matches!(self.format, Some(ExportFormat::Csv));
        let fault =
            |parameter: &str, detail: String| Err(ApiError::invalid_query(vec![(parameter.to_owned(), detail)]));
        if kind == "benchmark" {
            return match is_csv {
                true => fault(
                    "format",
                    "a benchmark has no CSV: evalplus, lm_eval_results and lm_eval_samples are valid".to_owned(),
                ),
                false => Ok(()),
            };
        }
        let only = |what: &str| format!("only benchmarks have {what}; this evaluation is of type {kind}");
        if self.format.is_some() && !is_csv {
            return fault("format", format!("{}, which is exported as csv", only("this format")));
        }
        if self.suite.is_some() {
            return fault("suite", only("suites"));
        }
        match self.subject {
            Some(_) => fault("subject", only("subjects")),
            None => Ok(()),
        }
    }
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let export = About::new("export_evaluation", "/evaluations/{id}/export").says(
        "Export an evaluation: a benchmark in another tool's format, others as CSV.",
        "A file: JSON for results, one JSON object per line for samples, or CSV",
    );
    let export = Endpoint::get(export, "benchmarks", export_evaluation);
    let export = export.id("id", "The evaluation").query::<ExportQuery>();
    let export = export.answers_object().or_text("application/x-ndjson").or_csv();
    vec![export]
}

async fn export_evaluation(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ExportQuery>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let evaluation = evaluations::find(db, *id).await?;
    let query = query.0;
    let kind = evaluation.spec["type"].as_str().unwrap_or_default();
    query.check(kind)?;
    if kind != "benchmark" {
        return Ok(HttpResponse::Ok().content_type("text/csv; charset=utf-8").body(csv(&evaluation)?));
    }
    let subject = query.subject.unwrap_or(0);
    let turn = Turn::wait().await?;
    let result = find(&lab, *id, query.suite.as_deref(), subject).await?;
    let samples = benchmarks::samples_of_subject(db, *id, &result.suite, subject).await?;
    let format = query.format.unwrap_or(ExportFormat::Evalplus);
    let text = match format {
        // `check` has refused CSV of a benchmark.
        ExportFormat::Evalplus | ExportFormat::Csv => lines(
            samples
                .iter()
                .map(|sample| export::evalplus_line(&sample.task_id, sample.solution.as_deref().unwrap_or_default())),
        ),
        ExportFormat::LmEvalResults => lm_eval_results(&result)?,
        ExportFormat::LmEvalSamples => {
            let dataset = result.dataset_id.map(DatasetId);
            let dataset = dataset.ok_or_else(|| ApiError::not_found("the rows of this result have been deleted"))?;
            let rows = datasets::slice(db, dataset, 0, result.rows.cast_unsigned()).await?;
            let rows: Result<Vec<BenchmarkRow>, String> =
                (0..).zip(&rows).map(|(place, row)| problem(place, row)).collect();
            lm_eval_samples(&rows.map_err(|error| ApiError::internal(&error))?, &samples)
        }
    };
    let mut response = HttpResponse::Ok();
    Ok(match format {
        ExportFormat::LmEvalResults => response.content_type("application/json").body(text),
        _ => {
            let body = file_body(turn, move |out| out.write_all(text.as_bytes()))?;
            response.content_type("application/x-ndjson").body(body)
        }
    })
}

fn csv(evaluation: &Evaluation) -> Result<String, ApiError> {
    let kind = evaluation.spec["type"].as_str().unwrap_or_default();
    let result = evaluation.result.as_ref();
    let result = result.ok_or_else(|| ApiError::not_found("the evaluation has no result yet"))?;
    let text = match kind {
        "frozen_side" => FrozenSideResult::deserialize(result).map(|result| result.to_csv()),
        "goalposts" => GoalpostsResult::deserialize(result).map(|result| result.to_csv()),
        "operator_retention" => RetentionResult::deserialize(result).map(|result| result.to_csv()),
        "regenerate" => RegenerateResult::deserialize(result).map(|result| result.to_csv()),
        _ => {
            let detail = format!(
                "evaluations of type `{kind}` have no CSV: frozen_side, goalposts, operator_retention and regenerate have one"
            );
            return Err(ApiError::not_found(detail));
        }
    };
    text.map_err(|error| ApiError::internal(&error))
}

async fn find(lab: &Lab, id: ExecutionId, suite: Option<&str>, subject: u32) -> Result<BenchmarkResult, ApiError> {
    let first = page::Window { limit: 1, after: None, order: page::Order::Oldest };
    let filter = BenchmarkFilter {
        evaluation: Some(id),
        suite: suite.map(str::to_owned),
        subject: Some(subject),
        ..BenchmarkFilter::default()
    };
    let found = benchmarks::results(lab.store.pool(), &filter, &first).await?;
    found.items.into_iter().next().ok_or_else(|| {
        let suite = suite.map(|name| format!(" on `{name}`")).unwrap_or_default();
        ApiError::not_found(format!("evaluation {id} has no result of subject {subject}{suite}"))
    })
}

fn lines(values: impl Iterator<Item = serde_json::Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

fn lm_eval_results(result: &BenchmarkResult) -> Result<String, ApiError> {
    let suite = benchmark::suite(result.suite_name()).map_err(|unknown| ApiError::not_found(unknown.to_string()))?;
    let number = |name: &str| result.protocol[name].as_f64();
    let protocol = benchmark::Protocol {
        prompts: result.protocol["prompts"].as_str().unwrap_or_default().to_owned(),
        temperature: number("temperature").unwrap_or_default(),
        top_p: number("top_p").unwrap_or(1.0),
        max_tokens: result.protocol["max_tokens"]
            .as_u64()
            .and_then(|tokens| tokens.try_into().ok())
            .unwrap_or_default(),
        plain_notation: result.protocol["plain_notation"] == true,
    };
    let measured = export::Measured {
        suite,
        model: match result.member_id {
            Some(_) => format!("{},peft={}", result.base_model, result.name),
            None => result.base_model.clone(),
        },
        protocol: &protocol,
        n: result.n.cast_unsigned(),
        seed: result.protocol["seed"].as_str().and_then(|seed| seed.parse().ok()).unwrap_or_default(),
        date: result.created_at.timestamp_millis() as f64 / 1e3,
    };
    serde_json::to_string_pretty(&export::lm_eval_results(&measured, &result.score()))
        .map_err(|error| ApiError::internal(&error))
}

fn lm_eval_samples(rows: &[BenchmarkRow], samples: &[BenchmarkSample]) -> String {
    let of_rows = samples.chunk_by(|a, b| a.row == b.row).filter_map(|samples| {
        let index = samples.first()?.row.cast_unsigned();
        Some(export::lm_eval_sample(&export::Answered {
            index,
            row: rows.get(index as usize)?,
            responses: samples.iter().map(|sample| sample.text.as_str()).collect(),
            solutions: samples.iter().map(|sample| sample.solution.as_deref().unwrap_or_default()).collect(),
            correct: samples.iter().filter(|sample| sample.correct).count() as u32,
        }))
    });
    lines(of_rows)
}
