//! Runs.

mod column;
mod condition;
mod figures;
mod fork;
mod inherit;
mod outcome;
mod page;
mod row;

pub use column::{LastSteps, RunColumn, have_metric, have_parameter, newest_config, reward_parts};
pub use condition::{Condition, Operand, Operator, RunFilter};
pub use figures::{GroupBy, RunGroup, RunValue, groups, values};
pub use fork::{Fork, fork, state_at};
pub use outcome::{Outcome, Standing, costs, outcomes, standings, tags};
pub use page::{RunSort, page};
pub use row::{Run, RunDetail, called, find, names};

use std::collections::HashSet;

use lyceum_core::config::RunConfig;
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_core::recipe::RunState;
use sha2::{Digest as _, Sha256};
use sqlx::{Acquire, PgConnection, PgPool, Postgres};
use uuid::Uuid;

use crate::artifact::{self, Reason};
use crate::executions::{self, NewExecution};
use crate::{Result, StoreError, event};

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
    let groups = new.config.populations.values().flat_map(|population| &population.members);
    for weights in groups.filter_map(|group| group.from.as_ref()?.weights()) {
        artifact::hold(tx, weights.artifact, id, Reason::Birth, weights.version.0, None).await?;
    }
    event::append(tx, id, "created", &serde_json::json!({ "name": new.name })).await?;
    event::wake_coordinator(&mut *tx, id).await
}

/// The arm of a run: the hash of its config without the seed.
fn arm(config: &RunConfig) -> Result<String> {
    let seedless = RunConfig { seed: 0, ..config.clone() };
    let mut seedless = serde_json::to_value(&seedless).map_err(StoreError::json("config"))?;
    // The order of parameters does not matter.
    seedless.sort_all_objects();
    let bytes = seedless.to_string();
    Ok(Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// The changes; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct RunChanges<'a> {
    pub name: Option<&'a str>,
    pub note: Option<&'a str>,
    /// Labels.
    pub tags: Option<&'a [String]>,
    pub experiment: Option<ExperimentId>,
    /// Items of runs with a higher priority go first.
    pub priority: Option<i16>,
    /// Maximum number of items in progress at once; 0 means no limit.
    pub max_concurrent: Option<u32>,
}

/// Changes a run.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn update<'c>(
    db: impl Acquire<'c, Database = Postgres>,
    id: ExecutionId,
    changes: &RunChanges<'_>,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let updated = sqlx::query(
        "UPDATE executions SET priority = coalesce($2, priority), updated_at = now(),
             max_concurrent = CASE WHEN $3::integer IS NULL THEN max_concurrent ELSE nullif($3, 0) END
         WHERE id = $1 AND kind = 'run'",
    )
    .bind(id.0)
    .bind(changes.priority)
    .bind(changes.max_concurrent.map(u32::cast_signed))
    .execute(&mut *tx)
    .await?;
    if updated.rows_affected() == 0 {
        return Err(StoreError::not_found("run", id));
    }
    sqlx::query(
        "UPDATE runs SET name = coalesce($2, name), note = coalesce($3, note), tags = coalesce($4, tags),
             experiment_id = coalesce($5, experiment_id) WHERE id = $1",
    )
    .bind(id.0)
    .bind(changes.name)
    .bind(changes.note)
    .bind(changes.tags)
    .bind(changes.experiment.map(|experiment| experiment.0))
    .execute(&mut *tx)
    .await?;
    if let Some(name) = changes.name {
        event::append(&mut tx, id, "renamed", &serde_json::json!({ "name": name })).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The runs that point at a run's problems, the oldest first: its forks with a past, theirs in turn, and forks of forks that
/// were deleted, whose archives and rows still name them. A fork before step 0 took nothing over.
const FORKS: &str = "
WITH RECURSIVE forks AS (
    SELECT r.id FROM runs r WHERE r.forked_at_step > 0 AND (r.forked_from = $1 OR r.forked_from IS NULL AND (
        EXISTS (SELECT FROM archive_insertions i JOIN problems p ON p.id = i.problem_id
                WHERE i.run_id = r.id AND p.run_id = $1)
        OR EXISTS (SELECT FROM row_answers a JOIN problems p ON p.id = a.problem_id
                   WHERE a.run_id = r.id AND p.run_id = $1)))
    UNION
    SELECT r.id FROM runs r JOIN forks f ON r.forked_from = f.id WHERE r.forked_at_step > 0
)
SELECT r.id, r.name FROM forks JOIN runs r USING (id) JOIN executions e USING (id) ORDER BY e.seq";

/// Removes a run that has ended, with all its rows. Artifacts that nothing else holds are removed by the next
/// collection.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::Conflict`] if it has not ended, or [`StoreError::Forked`] if forks need its
/// problems.
pub async fn remove(db: &PgPool, id: ExecutionId) -> Result<()> {
    let mut tx = db.begin().await?;
    let state: Option<String> =
        sqlx::query_scalar("SELECT state FROM executions WHERE id = $1 AND kind = 'run' FOR UPDATE")
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    let state = state.ok_or_else(|| StoreError::not_found("run", id))?;
    if matches!(state.as_str(), "running" | "paused") {
        return Err(StoreError::Conflict {
            what: "run",
            id: id.to_string(),
            state,
            wanted: "completed, failed or cancelled",
            action: "deleted",
        });
    }
    sqlx::query(
        "INSERT INTO results_to_renew SELECT DISTINCT b.run_id, b.suite, b.row_set, b.decoding
         FROM benchmark_results b JOIN evaluations v ON v.id = b.evaluation_id WHERE v.run_id = $1 AND b.run_id <> $1",
    )
    .bind(id.0)
    .execute(&mut *tx)
    .await?;
    // Before the run's own row is locked, as plans of evaluations lock them in this order.
    sqlx::query("DELETE FROM executions WHERE id IN (SELECT id FROM evaluations WHERE run_id = $1)")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    // A fork that is being written has its origin's row until it is there to be seen.
    sqlx::query("SELECT FROM runs WHERE id = $1 FOR UPDATE").bind(id.0).execute(&mut *tx).await?;
    not_forked(&mut tx, id).await?;
    sqlx::query("DELETE FROM executions WHERE id = $1").bind(id.0).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}

/// # Errors
/// [`StoreError::Forked`] with the forks that would lose what they took over.
async fn not_forked(tx: &mut PgConnection, id: ExecutionId) -> Result<()> {
    let forks: Vec<(Uuid, String)> = sqlx::query_as(FORKS).bind(id.0).fetch_all(tx).await?;
    if forks.is_empty() {
        return Ok(());
    }
    let forks: Vec<String> = forks.into_iter().map(|(id, name)| format!("run `{name}` ({id})")).collect();
    Err(StoreError::Forked { run: id, forks: forks.join(", ") })
}

/// Those of these runs that were not deleted. They stay until the transaction ends.
///
/// Rows of a run are deleted with it, so what an evaluation of several runs measured of a run that is gone by now is left
/// out, as it would have been deleted had it been written earlier.
pub(crate) async fn present(
    tx: &mut PgConnection,
    runs: impl Iterator<Item = ExecutionId>,
) -> Result<HashSet<ExecutionId>> {
    let mut runs: Vec<Uuid> = runs.map(|run| run.0).collect();
    if runs.is_empty() {
        return Ok(HashSet::new());
    }
    runs.sort_unstable();
    runs.dedup();
    let there: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM runs WHERE id = ANY($1) ORDER BY id FOR KEY SHARE")
        .bind(runs)
        .fetch_all(tx)
        .await?;
    Ok(there.into_iter().map(ExecutionId).collect())
}
