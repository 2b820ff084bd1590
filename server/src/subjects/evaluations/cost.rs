//! What an evaluation costs before it starts: what is asked and answered, and how long that took the last time.

use lyceum_core::config::RunConfig;
use lyceum_core::recipe::Planner;
use lyceum_store::evaluations;
use serde::Serialize;
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
    /// Answers that models give, to proposals too; in a check of a dataset, rows that are tried. For operator retention, an
    /// upper bound without the answers of retraining.
    pub(crate) answers: u64,
    /// Expected seconds, at the pace of the fastest of the last five completed evaluations of the type; null if there is none.
    pub(crate) seconds: Option<f64>,
    /// The evaluation of that pace.
    pub(crate) like: Option<Uuid>,
}

impl EvaluationCost {
    /// The cost of the evaluation with this config of `planner`.
    pub(crate) async fn of(db: &PgPool, planner: &dyn Planner, config: &RunConfig) -> Result<Self, ApiError> {
        let (rows, answers) = planner.size(&config.parameters).unwrap_or_default();
        let completed = evaluations::completed(db, &config.recipe, LIKE).await?;
        let pace = |one: &evaluations::Completed| {
            let (_, answers) = planner.size(&one.parameters)?;
            (answers > 0).then(|| (one.seconds / answers as f64, one.id))
        };
        let fastest = completed.iter().filter_map(pace).min_by(|one, other| one.0.total_cmp(&other.0));
        Ok(Self {
            rows,
            answers,
            seconds: fastest.map(|(pace, _)| pace * answers as f64),
            like: fastest.map(|(_, id)| id),
        })
    }
}
