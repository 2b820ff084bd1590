//! Creating a run.

use lyceum_core::{
    config::RunConfig,
    id::{ExecutionId, ExperimentId},
    recipe::RunState,
};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use crate::{
    Result, StoreError,
    artifact::{self, Reason},
    event,
    executions::{self, NewExecution},
};

#[derive(Clone, Debug)]
pub struct NewRun<'a> {
    pub name: &'a str,
    pub experiment: Option<ExperimentId>,
    /// The preset of its config.
    pub preset: Option<&'a str>,
    /// Labels.
    pub tags: &'a [String],
    pub note: &'a str,
    /// The resolved config.
    pub config: &'a RunConfig,
    /// Its state before its first step.
    pub state: &'a RunState,
    /// The recipe's metrics, in order.
    pub metrics: &'a [&'a str],
    /// Links the request to its work (W3C trace id).
    pub trace_id: Option<&'a str>,
    /// The run it is forked from, and at which step.
    pub forked_from: Option<(ExecutionId, u32)>,
}

/// Writes a run, and holds the weights that its members begin with; it starts when the transaction commits.
///
/// # Errors
/// [`StoreError::Removed`] if such weights are gone.
pub async fn begin(tx: &mut PgConnection, new: &NewRun<'_>) -> Result<()> {
    let id = new.state.run;
    executions::insert(
        tx,
        &NewExecution {
            kind: "run",
            config: new.config,
            state: new.state,
            metrics: new.metrics,
            trace_id: new.trace_id,
        },
    )
    .await?;
    sqlx::query(
        "INSERT INTO runs (id, experiment_id, name, arm, seed, preset, tags, note, forked_from, forked_at_step)
         VALUES ($1, $2, $3, $4, $5::text::numeric, $6, $7, $8, $9, $10)",
    )
    .bind(id.0)
    .bind(new.experiment.map(|experiment| experiment.0))
    .bind(new.name)
    .bind(arm(new.config)?)
    .bind(new.config.seed.to_string())
    .bind(new.preset)
    .bind(new.tags)
    .bind(new.note)
    .bind(new.forked_from.map(|(run, _)| run.0))
    .bind(new.forked_from.map(|(_, step)| step.cast_signed()))
    .execute(&mut *tx)
    .await?;
    let groups = new
        .config
        .populations
        .values()
        .flat_map(|population| &population.members);
    for weights in groups.filter_map(|group| group.from.as_ref()?.weights()) {
        artifact::hold(tx, weights.artifact, id, Reason::Birth, weights.version.0, None).await?;
    }
    event::append(tx, id, "created", &serde_json::json!({ "name": new.name })).await?;
    event::wake_coordinator(&mut *tx, id).await
}

/// The arm of a run: the hash of its config without the seed.
fn arm(config: &RunConfig) -> Result<String> {
    let seedless = RunConfig {
        seed: 0,
        ..config.clone()
    };
    let mut seedless = serde_json::to_value(&seedless).map_err(StoreError::json("config"))?;
    // The order of parameters does not matter.
    seedless.sort_all_objects();
    let bytes = seedless.to_string();
    Ok(Sha256::digest(bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
