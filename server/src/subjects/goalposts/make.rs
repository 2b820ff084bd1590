//! Makes a dataset of goalposts: the rows that no attempt of finished evaluations solved (GASP, section 3.2).

use lyceum_core::{
    dataset::Purpose,
    fault::Fault,
    id::{DatasetId, ExecutionId},
    recipe::{GoalpostParameters, GoalpostsResult},
};
use lyceum_store::{
    StoreError,
    datasets::{self, Dataset, NewDataset},
    evaluations::{self, Evaluation},
    executions::State,
    goalposts,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use sqlx::PgConnection;
use std::collections::BTreeSet;
use uuid::Uuid;

use crate::api_error::ApiError;

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
    let (true, Some(first)) = (faults.is_empty(), filters.first()) else {
        return Err(ApiError::invalid(faults));
    };
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
        let faults = overlaps.iter().filter(|overlap| overlap.purpose == Purpose::Benchmark);
        let faults: Vec<Fault> = faults
            .map(|overlap| {
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
    let Evaluation {
        spec, state, result, ..
    } = match evaluations::find(&mut *db, ExecutionId(id)).await {
        Err(error @ StoreError::NotFound { .. }) => return Ok(Err(error.to_string())),
        found => found?,
    };
    if spec["type"] != "goalposts" {
        let kind = spec["type"].as_str().unwrap_or_default();
        return Ok(Err(format!(
            "evaluation {id} is of type `{kind}`: `goalposts` is valid"
        )));
    }
    if state != State::Completed {
        return Ok(Err(format!(
            "evaluation {id} is {}: a completed one is valid",
            state.name()
        )));
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
    Ok(Ok(Filter {
        id,
        parameters,
        result,
        solved,
    }))
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
