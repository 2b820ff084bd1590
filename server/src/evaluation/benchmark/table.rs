//! The papers' table of a run: its results next to those of its base and of a baseline.

use lyceum_core::{
    benchmark::{Cell, Subject, SubjectRole, Table, suite},
    id::ExecutionId,
};
use lyceum_store::{
    benchmarks::{self, BenchmarkResult},
    runs,
};
use serde_json::Value;
use sqlx::PgPool;

use crate::api_error::ApiError;

/// A table, and the run's results in it.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The table.
    pub(crate) table: Table,
    /// The newest result of each subject and suite of the run.
    pub(crate) results: Vec<BenchmarkResult>,
}

/// The table of `run` after `step` steps, by default the latest measured, next to the latest of `baseline`.
///
/// # Errors
/// 400 if there is no run `baseline`.
pub(crate) async fn measured(
    db: &PgPool,
    run: ExecutionId,
    step: Option<u32>,
    baseline: Option<ExecutionId>,
) -> Result<Measured, ApiError> {
    let mut beside = Vec::new();
    let mut scores = Vec::new();
    if let Some(baseline) = baseline {
        let found = runs::find(db, baseline).await;
        let found = found.map_err(|error| ApiError::invalid_query(vec![("baseline".to_owned(), error.to_string())]))?;
        beside = benchmarks::population_results(db, baseline, None).await?;
        beside.retain(|result| result.role != SubjectRole::Base);
        scores.extend(beside.iter().map(|result| {
            let name = format!("{}: {}", found.run.name, result.name);
            score(result, name, SubjectRole::Baseline)
        }));
    }
    let results = benchmarks::population_results(db, run, step).await?;
    scores.extend(
        results
            .iter()
            .map(|result| score(result, result.name.clone(), result.role)),
    );
    let mut table = Table::of(scores);
    let notes = table
        .suites
        .iter()
        .filter_map(|name| difference(name, beside.iter().chain(&results)));
    let notes: Vec<String> = notes.collect();
    table.notes.extend(notes);
    Ok(Measured { table, results })
}

fn score(result: &BenchmarkResult, name: String, role: SubjectRole) -> (Subject, String, Cell) {
    let subject = Subject {
        name,
        role,
        member: result.member_id,
    };
    let cell = Cell {
        pass_at_1: result.pass_at_1,
        standard_error: result.standard_error,
    };
    (subject, result.suite.clone(), cell)
}

/// Fields of a protocol that influence scores.
const ASKED: [&str; 6] = [
    "prompts",
    "prompts_sha256",
    "chat_template_sha256",
    "temperature",
    "top_p",
    "max_tokens",
];

/// A note for a column whose scores were not all measured in the same way.
fn difference<'a>(suite_name: &str, results: impl Iterator<Item = &'a BenchmarkResult>) -> Option<String> {
    let mut results = results.filter(|result| result.suite == suite_name);
    let first = results.next()?;
    let mut fields: Vec<&str> = Vec::new();
    for other in results {
        let asked = ASKED.iter().copied();
        fields.extend(asked.filter(|field| field_of(first, field) != field_of(other, field)));
        if first.dataset_id != other.dataset_id {
            fields.push("imported rows");
        }
        if first.rows != other.rows {
            fields.push("number of rows");
        }
        if first.n != other.n {
            fields.push("n");
        }
    }
    fields.sort_unstable();
    fields.dedup();
    let title = suite(suite_name).map_or(suite_name, |suite| suite.title.as_str());
    (!fields.is_empty()).then(|| {
        format!(
            "{title} was not measured in the same way for all: {} differ",
            fields.join(", ")
        )
    })
}

fn field_of<'a>(result: &'a BenchmarkResult, field: &str) -> &'a Value {
    result.protocol.get(field).unwrap_or(&Value::Null)
}
