//! Writing a plan.

use std::collections::HashMap;

use lyceum_core::id::WorkId;
use lyceum_core::recipe::{Plan, Records, RunState, WorkItem};
use sqlx::PgConnection;

use super::Locked;
use crate::artifact::{release_state, release_step};
use crate::executions::{State, open_step};
use crate::queue::Lane;
use crate::steps::StepRef;
use crate::text::json_text;
use crate::{
    Result, archive, attempts, benchmarks, births, dataset_rows, datasets, event, executions, geometry, goalposts,
    held_out, matchups, members, metrics, problems, queue, ratings, versions,
};

/// The effect of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Number of new items.
    pub new_work: u32,
    /// Whether the step is over.
    pub finished: bool,
    /// Whether the execution is over.
    pub completed: bool,
}

/// Writes a plan's records and items, announces the items and, if the step is over, opens the next one; all in the
/// transaction that locked the execution, or nothing.
pub async fn carry_out(tx: &mut PgConnection, locked: &Locked, plan: &Plan, seconds: f64) -> Result<Carried> {
    let state = &locked.state;
    if locked.is_run && !plan.records.is_empty() {
        write(tx, StepRef { run: state.run, step: state.step }, &plan.records).await?;
    }
    if !locked.is_run {
        benchmarks::write_samples(tx, state.run, &plan.records.benchmark_samples).await?;
        let results = benchmarks::write_results(tx, state.run, &plan.records.benchmark_results).await?;
        datasets::write_check(tx, state.run, &plan.records.dataset_checks).await?;
        let counts = goalposts::write(tx, state.run, &plan.records.goalpost_counts).await?;
        let results = results + counts;
        if results > 0 {
            event::append(tx, state.run, "measured", &serde_json::json!({ "results": results })).await?;
        }
        if let Some((run, step)) = plan.records.attempts_of {
            attempts::write(tx, StepRef { run, step }, Some(state.run), &plan.records.attempts).await?;
        }
    }
    if let Some(result) = &plan.result {
        sqlx::query("UPDATE evaluations SET result = $2 WHERE id = $1")
            .bind(state.run.0)
            .bind(result)
            .execute(&mut *tx)
            .await?;
    }
    let new_work = insert_work(tx, state, &plan.work).await?;
    sqlx::query(
        "UPDATE steps SET total = total + $3, planned = $4, plan_seconds = plan_seconds + $5,
             finished_at = CASE WHEN $6 THEN now() END
         WHERE execution_id = $1 AND step = $2",
    )
    .bind(state.run.0)
    .bind(state.step.cast_signed())
    .bind(new_work.cast_signed())
    .bind(locked.ended)
    .bind(seconds)
    .bind(plan.finish.is_some())
    .execute(&mut *tx)
    .await?;
    let completed = match &plan.finish {
        Some(next) => {
            let is_over = finish_step(tx, state, next).await?;
            if !locked.is_run {
                // Only a run can be forked at an earlier state.
                release_state(tx, state.run, &next.artifacts).await?;
            }
            is_over
        }
        None => false,
    };
    if new_work > 0 {
        let data = serde_json::json!({ "step": state.step, "work": new_work });
        event::append(tx, state.run, "planned", &data).await?;
    }
    Ok(Carried { new_work, finished: plan.finish.is_some(), completed })
}

async fn insert_work(tx: &mut PgConnection, state: &RunState, items: &[WorkItem]) -> Result<u32> {
    let mut new = 0;
    let mut announced: HashMap<Lane, u32> = HashMap::new();
    for item in items {
        let inserted = sqlx::query(
            "INSERT INTO work (id, execution_id, step, phase, round, chunk, kind, payload, base_model, memory_bytes,
                 sampler, trainer, device, kernels, max_attempts)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8::text::json, $9, $10, $11, $12, $13, $14, max_attempts
             FROM executions WHERE id = $2
             ON CONFLICT DO NOTHING",
        )
        .bind(WorkId::of(state.run, &item.key).0)
        .bind(state.run.0)
        .bind(item.key.step.cast_signed())
        .bind(&item.key.phase)
        .bind(item.key.round.cast_signed())
        .bind(item.key.chunk.cast_signed())
        .bind(item.payload.kind())
        .bind(json_text("payload", &item.payload)?)
        .bind(item.requirements.base_model.as_deref())
        .bind(i64::try_from(item.requirements.memory_bytes).unwrap_or(i64::MAX))
        .bind(item.requirements.sampler)
        .bind(item.requirements.trainer)
        .bind(item.requirements.device)
        .bind(item.requirements.kernels)
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() > 0 {
            new += 1;
            let lane = Lane::of(item.payload.kind(), item.requirements.sampler);
            *announced.entry(lane).or_default() += 1;
        }
    }
    for (lane, count) in announced {
        queue::issue(tx, lane, count).await?;
    }
    Ok(new)
}

async fn finish_step(tx: &mut PgConnection, state: &RunState, next: &RunState) -> Result<bool> {
    open_step(tx, next).await?;
    release_step(tx, state.run, state.step).await?;
    sqlx::query("UPDATE executions SET step = $2, stage = $3 WHERE id = $1")
        .bind(state.run.0)
        .bind(next.step.cast_signed())
        .bind(&next.stage)
        .execute(&mut *tx)
        .await?;
    event::append(tx, state.run, "step_finished", &serde_json::json!({ "step": state.step })).await?;
    if next.completed {
        executions::stop(tx, state.run, State::Completed, None).await?;
    } else {
        event::wake_coordinator(&mut *tx, state.run).await?;
    }
    Ok(next.completed)
}

/// Writes all records, each after those it refers to.
pub(super) async fn write(tx: &mut PgConnection, at: StepRef, records: &Records) -> Result<()> {
    members::write_populations(tx, at, &records.populations).await?;
    members::write(tx, at, &records.members).await?;
    versions::write(tx, at, &records.versions).await?;
    births::write(tx, at, &records.births).await?;
    geometry::write(tx, at, &records.geometry).await?;
    members::write_deaths(tx, at, &records.deaths).await?;
    problems::write(tx, at, &records.problems).await?;
    attempts::write(tx, at, None, &records.attempts).await?;
    problems::write_outcomes(tx, &records.outcomes).await?;
    matchups::write(tx, at, &records.matchups).await?;
    ratings::write(tx, at, &records.ratings).await?;
    archive::write(tx, at, &records.insertions).await?;
    dataset_rows::write(tx, at, &records.row_answers).await?;
    held_out::write(tx, at, &records.held_out).await?;
    metrics::write(tx, at, &records.metrics).await
}
