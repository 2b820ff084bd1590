//! The papers' table of a run: its results next to those of its base and of a baseline measured in the same way.

use lyceum_core::benchmark::{Cell, Subject, SubjectRole, Table, suite};
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, BenchmarkResult};
use lyceum_store::runs;
use sqlx::PgPool;

use crate::api_error::ApiError;

/// A table, and the run's results in it.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
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
    scores.extend(results.iter().map(|result| score(result, result.name.clone(), result.role)));
    let mut table = Table::of(scores);
    let notes = table.suites.iter().filter_map(|name| difference(name, beside.iter().chain(&results)));
    let notes: Vec<String> = notes.collect();
    table.notes.extend(notes);
    Ok(Measured { table, results })
}

fn score(result: &BenchmarkResult, name: String, role: SubjectRole) -> (Subject, String, Cell) {
    let subject = Subject { name, role, member: result.member_id };
    let cell = Cell { pass_at_1: result.pass_at_1, standard_error: result.standard_error };
    (subject, result.suite.clone(), cell)
}

/// A note for a column whose scores were not all measured in the same way.
fn difference<'a>(suite_name: &str, results: impl Iterator<Item = &'a BenchmarkResult>) -> Option<String> {
    let mut results = results.filter(|result| result.suite == suite_name);
    let first = results.next()?;
    let mut fields: Vec<&str> = results.flat_map(|other| differences(first, other)).collect();
    fields.sort_unstable();
    fields.dedup();
    let title = suite(suite_name).map_or(suite_name, |suite| suite.title.as_str());
    (!fields.is_empty())
        .then(|| format!("{title} was not measured in the same way for all: {} differ", fields.join(", ")))
}

/// Fields of a protocol that influence scores.
const ASKED: [&str; 6] = ["prompts", "prompts_sha256", "chat_template_sha256", "temperature", "top_p", "max_tokens"];

/// In what the measurements of two results differ, apart from who was measured.
pub(super) fn differences(one: &BenchmarkResult, other: &BenchmarkResult) -> Vec<&'static str> {
    let asked = ASKED.into_iter().map(|field| (field, one.protocol[field] == other.protocol[field]));
    let also = [
        ("suite", one.suite_name() == other.suite_name()),
        ("rows", one.rows != other.rows || one.row_set == other.row_set),
        ("number of rows", one.rows == other.rows),
        ("n", one.n == other.n),
    ];
    let all = asked.chain(also);
    all.filter_map(|(field, same)| (!same).then_some(field)).collect()
}
