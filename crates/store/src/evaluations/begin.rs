//! Creating an evaluation.

use lyceum_core::{
    config::RunConfig,
    evaluation::EvaluationSpec,
    id::ExecutionId,
    recipe::{DatasetCheckParameters, RunState},
};
use serde::Deserialize as _;
use sqlx::{PgConnection, types::Json};

use crate::{
    Result, StoreError, datasets, event,
    executions::{self, NewExecution},
};

#[derive(Clone, Debug)]
pub struct NewEvaluation<'a> {
    /// Its specification.
    pub spec: &'a EvaluationSpec,
    /// The run it is about, if there is one.
    pub run: Option<ExecutionId>,
    /// The resolved config of its planner.
    pub config: &'a RunConfig,
    /// The initial state.
    pub state: &'a RunState,
    /// Links the request to its work (W3C trace id).
    pub trace_id: Option<&'a str>,
}

/// Writes an evaluation; it starts when the transaction commits.
///
/// # Errors
/// [`StoreError::Conflict`] for the check of a dataset that is being checked.
pub async fn begin(tx: &mut PgConnection, new: &NewEvaluation<'_>) -> Result<()> {
    let id = new.state.run;
    executions::insert(
        tx,
        &NewExecution {
            kind: "evaluation",
            config: new.config,
            state: new.state,
            metrics: &[],
            trace_id: new.trace_id,
        },
    )
    .await?;
    sqlx::query("INSERT INTO evaluations (id, run_id, spec) VALUES ($1, $2, $3)")
        .bind(id.0)
        .bind(new.run.map(|run| run.0))
        .bind(Json(new.spec))
        .execute(&mut *tx)
        .await?;
    if let EvaluationSpec::DatasetCheck(_) = new.spec {
        let of = DatasetCheckParameters::deserialize(&new.config.parameters);
        let of = of.map_err(StoreError::json("check of a dataset"))?;
        if of.dry_run.is_none() {
            datasets::begin_check(tx, of.dataset, id).await?;
        }
    }
    event::append(tx, id, "created", &serde_json::json!({ "spec": new.spec })).await?;
    event::wake_coordinator(&mut *tx, id).await
}
