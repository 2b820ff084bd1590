//! What an evaluation costs before it starts: what is asked and answered, and how long that took the last time.

use lyceum_core::{
    config::RunConfig,
    recipe::{
        BenchmarkParameters, CrossPlayParameters, DatasetCheckParameters, FrozenSideParameters, GoalpostParameters,
        RetentionParameters,
    },
};
use lyceum_store::evaluations;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;

/// Completed evaluations whose pace is looked at.
const LIKE: u32 = 5;

/// What an evaluation costs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct EvaluationCost {
    /// Rows of datasets, or problems, that are answered, each counted once.
    pub(crate) rows: u64,
    /// Answers that models give, to proposals too; in a check of a dataset, rows that are tried. Of operator retention, at most
    /// so many, and without those of retraining.
    pub(crate) answers: u64,
    /// Expected seconds, at the pace of the fastest of the last five completed evaluations of the type; null if there is none.
    pub(crate) seconds: Option<f64>,
    /// The evaluation of that pace.
    pub(crate) like: Option<Uuid>,
}

impl EvaluationCost {
    /// The cost of the evaluation with this config.
    pub(crate) async fn of(db: &PgPool, config: &RunConfig) -> Result<Self, ApiError> {
        let (rows, answers) = size(&config.recipe, &config.parameters).unwrap_or_default();
        let completed = evaluations::completed(db, &config.recipe, LIKE).await?;
        let pace = |one: &evaluations::Completed| {
            let (_, answers) = size(&config.recipe, &one.parameters)?;
            (answers > 0).then(|| (one.seconds / answers as f64, one.id))
        };
        let fastest = completed
            .iter()
            .filter_map(pace)
            .min_by(|one, other| one.0.total_cmp(&other.0));
        Ok(Self {
            rows,
            answers,
            seconds: fastest.map(|(pace, _)| pace * answers as f64),
            like: fastest.map(|(_, id)| id),
        })
    }
}

/// Rows and answers of an evaluation by the parameters of its planner; `None` if they cannot be read.
fn size(planner: &str, parameters: &serde_json::Value) -> Option<(u64, u64)> {
    let size = match planner.strip_prefix("evaluation/")? {
        "benchmark" => {
            let asked = BenchmarkParameters::deserialize(parameters).ok()?;
            let rows = asked.suites.iter().map(|suite| u64::from(suite.rows)).sum();
            let suites = asked.suites.iter();
            let samples: u64 = suites
                .map(|suite| u64::from(suite.rows) * u64::from(suite.n.unwrap_or(asked.n)))
                .sum();
            (rows, samples * asked.subjects.len() as u64)
        }
        "cross_play" => {
            let asked = CrossPlayParameters::deserialize(parameters).ok()?;
            let attempted: u64 = asked.cells.iter().map(|cell| cell.problems.len() as u64).sum();
            (attempted, attempted * u64::from(asked.samples))
        }
        "dataset_check" => {
            let rows = u64::from(DatasetCheckParameters::deserialize(parameters).ok()?.rows);
            (rows, rows)
        }
        "frozen_side" => {
            let asked = FrozenSideParameters::deserialize(parameters).ok()?;
            let problems = u64::from(asked.problems) * asked.teachers.len() as u64;
            let attempts = problems * asked.students.len() as u64 * u64::from(asked.samples);
            (problems, problems + attempts)
        }
        "goalposts" => {
            let asked = GoalpostParameters::deserialize(parameters).ok()?;
            let rows = u64::from(asked.problems.rows);
            (rows, rows * u64::from(asked.n) * asked.subjects.len() as u64)
        }
        "operator_retention" => {
            let asked = RetentionParameters::deserialize(parameters).ok()?;
            let rows = asked
                .tasks
                .iter()
                .map(|task| u64::from(task.rows.min(asked.rows)))
                .sum();
            let children = (asked.snapshots.len() * asked.operators.len()) as u64 * u64::from(asked.seeds);
            let moments = u64::from(asked.steps / asked.every.max(1)) + 2;
            (rows, rows * u64::from(asked.n) * moments * children)
        }
        "regenerate" => (1, 1),
        _ => return None,
    };
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_rows_by_samples_by_subjects() {
        let rows = |rows: u32| {
            size(
                "evaluation/dataset_check",
                &json!({"dataset": Uuid::nil(), "rows": rows}),
            )
        };
        assert_eq!(rows(1319), Some((1319, 1319)));
        assert_eq!(size("evaluation/regenerate", &json!({})), Some((1, 1)));
        assert_eq!(size("evaluation/dataset_check", &json!({})), None);
        assert_eq!(size("populora", &json!({})), None);
        let protocol = json!({"prompts": "seedling", "temperature": 0.0, "max_tokens": 8});
        let suite = |rows: u32, n: Option<u32>| {
            let mut suite = json!({"suite": "s", "dataset": Uuid::nil(), "rows": rows, "protocol": protocol});
            if let Some(n) = n {
                suite["n"] = json!(n);
            }
            suite
        };
        let benchmark = json!({
            "suites": [suite(100, None), suite(10, Some(8))], "subjects": [], "n": 2, "samples_per_item": 1,
        });
        assert_eq!(
            size("evaluation/benchmark", &benchmark),
            Some((110, 0)),
            "nobody answers"
        );
    }
}
