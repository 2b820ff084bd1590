//! Which worker gets which item, and when.

use anyhow::{Context as _, Result};
use lyceum_core::{
    config::RunConfig,
    id::ExecutionId,
    work::{Device, Sampler, Trainer},
};
use lyceum_store::{
    StoreError, executions,
    queue::{self, Lane},
    runs,
    work::{Failure, FailureKind, Slot, claim, claim_next, fail},
};
use lyceum_system_tests::house::{House, WorkerArguments, registry, until};
use serde_json::json;
use sqlx::types::Json;
use std::time::Duration;
use uuid::Uuid;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

/// A slot of the registered worker that can take anything.
async fn slot(house: &House) -> Result<Slot> {
    let worker = sqlx::query_scalar("SELECT id FROM workers LIMIT 1")
        .fetch_one(house.pool())
        .await
        .map(Uuid::into)?;
    Ok(Slot {
        worker,
        kinds: lyceum_core::work::WorkKind::ALL.to_vec(),
        sampler: Sampler::Engine,
        trainers: vec![Trainer::Engine],
        device: Device::Cpu,
        base_models: None,
        loaded_models: Vec::new(),
        memory_bytes: u64::MAX,
        lease: Duration::from_secs(600),
    })
}

/// The runs that consecutive claims go to, by the numbers in their ids.
async fn claims(house: &House, count: usize) -> Result<Vec<u128>> {
    let slot = slot(house).await?;
    let mut runs = Vec::new();
    for _ in 0..count {
        let claim = claim(house.pool(), &slot).await?;
        runs.push(claim.map_or(0, |claim| claim.execution.0.as_u128()));
    }
    Ok(runs)
}

/// Runs with six planned, unstarted items each, by their scheduling.
async fn planned(house: &House, schedulings: &[serde_json::Value]) -> Result<()> {
    let server = house.server(SERVER)?;
    let worker = house.worker(
        WORKER,
        &WorkerArguments {
            models: vec!["none"],
            ..WorkerArguments::default()
        },
    )?;
    for (id, scheduling) in (1..).zip(schedulings) {
        house
            .begin_with(id, "script", 1, json!({ "items": vec!["ok"; 6] }), scheduling.clone())
            .await?;
    }
    let wanted = 6 * i64::try_from(schedulings.len())?;
    until("all items are planned", || async {
        let items: i64 = sqlx::query_scalar("SELECT count(*) FROM work")
            .fetch_one(house.pool())
            .await?;
        let workers: i64 = sqlx::query_scalar("SELECT count(*) FROM workers")
            .fetch_one(house.pool())
            .await?;
        Ok((items == wanted && workers == 1).then_some(()))
    })
    .await?;
    worker.stop()?;
    server.stop()
}

#[tokio::test]
async fn runs_of_one_priority_share_evenly_and_a_higher_one_goes_first() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({}), json!({ "priority": 5 })]).await?;
    let mut runs = claims(&house, 10).await?;
    assert_eq!(runs[..6], [3; 6]);
    runs[6..8].sort_unstable();
    runs[8..].sort_unstable();
    assert_eq!(runs[6..], [1, 2, 1, 2]);
    Ok(())
}

#[tokio::test]
async fn a_run_holds_no_more_items_than_it_may() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({ "max_concurrent": 2, "priority": 1 }), json!({})]).await?;
    assert_eq!(claims(&house, 9).await?, [1, 1, 2, 2, 2, 2, 2, 2, 0]);
    Ok(())
}

#[tokio::test]
async fn an_update_goes_only_to_a_worker_that_has_its_trainer() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({})]).await?;
    sqlx::query("UPDATE work SET kind = 'update' WHERE chunk < 4")
        .execute(house.pool())
        .await?;
    sqlx::query("UPDATE work SET trainer = 'torchrun' WHERE chunk < 3")
        .execute(house.pool())
        .await?;
    let slot = slot(&house).await?;
    let claimed = async |trainers: &[Trainer]| -> Result<Vec<u32>> {
        let slot = Slot {
            trainers: trainers.to_vec(),
            ..slot.clone()
        };
        let mut chunks = Vec::new();
        while let Some(claim) = claim(house.pool(), &slot).await? {
            chunks.push(claim.key.chunk);
            if chunks.len() == 2 && trainers.len() > 1 {
                break;
            }
        }
        Ok(chunks)
    };
    assert_eq!(
        claimed(&[Trainer::Engine, Trainer::Torchrun]).await?,
        [0, 1],
        "the oldest first"
    );
    assert_eq!(claimed(&[]).await?, [4, 5], "everything but updates");
    assert_eq!(claimed(&[Trainer::Engine]).await?, [3]);
    assert_eq!(claimed(&[Trainer::Torchrun]).await?, [2]);
    Ok(())
}

#[tokio::test]
async fn an_item_goes_only_to_a_worker_that_has_its_device_and_memory() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({})]).await?;
    let needs = "UPDATE work SET device = CASE WHEN chunk < 2 THEN 'cuda' WHEN chunk = 2 THEN 'cpu' END,
        memory_bytes = CASE WHEN chunk IN (1, 3) THEN 16000000000 ELSE 1000 END";
    sqlx::query(needs).execute(house.pool()).await?;
    let slot = slot(&house).await?;
    let claimed = async |device: Device, memory_bytes: u64| -> Result<Vec<u32>> {
        let slot = Slot {
            device,
            memory_bytes,
            ..slot.clone()
        };
        let mut chunks = Vec::new();
        while let Some(claim) = claim(house.pool(), &slot).await? {
            chunks.push(claim.key.chunk);
        }
        sqlx::query("UPDATE work SET state = 'ready', worker_id = NULL, lease_until = NULL WHERE state = 'running'")
            .execute(house.pool())
            .await?;
        Ok(chunks)
    };
    assert_eq!(claimed(Device::Cpu, 8_000_000_000).await?, [2, 4, 5]);
    assert_eq!(claimed(Device::Cpu, 64_000_000_000).await?, [2, 3, 4, 5]);
    assert_eq!(claimed(Device::Cuda, 8_000_000_000).await?, [0, 4, 5]);
    assert_eq!(claimed(Device::Cuda, 80_000_000_000).await?, [0, 1, 3, 4, 5]);
    assert!(claimed(Device::Cuda, 999).await?.is_empty());
    Ok(())
}

/// A slot that continues without a ticket consumes one with each item it claims, so no ticket is left over.
#[tokio::test]
async fn going_on_uses_up_a_ticket_for_each_item() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({})]).await?;
    sqlx::query("DELETE FROM apalis.jobs").execute(house.pool()).await?;
    let mut connection = house.pool().acquire().await?;
    queue::issue(&mut connection, Lane::Engine, 8).await?;
    queue::issue(&mut connection, Lane::Verifier, 1).await?;
    drop(connection);
    let tickets = async || -> Result<Vec<(String, i64)>> {
        let out = "SELECT job_type, count(*) FROM apalis.jobs GROUP BY job_type ORDER BY job_type";
        Ok(sqlx::query_as(out).fetch_all(house.pool()).await?)
    };
    let left = |engine: i64| vec![("lyceum.engine".to_owned(), engine), ("lyceum.verifier".to_owned(), 1)];
    let slot = slot(&house).await?;
    for taken in 1..=6 {
        assert!(claim_next(house.pool(), &slot, Lane::Engine).await?.is_some());
        assert_eq!(tickets().await?, left(8 - taken));
    }
    assert!(claim_next(house.pool(), &slot, Lane::Engine).await?.is_none());
    assert_eq!(tickets().await?, left(2));
    Ok(())
}

#[tokio::test]
async fn a_worker_takes_only_what_it_can_load() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _other = house.worker(
        WORKER,
        &WorkerArguments {
            models: vec!["small"],
            ..WorkerArguments::default()
        },
    )?;
    let run = house
        .begin(1, "script", 1, json!({ "items": ["need large", "need small"] }))
        .await?;
    house.until_entries(2).await?;
    let open = until("one item is done", || async {
        let open: Vec<String> = sqlx::query_scalar("SELECT base_model FROM work WHERE state <> 'done'")
            .fetch_all(house.pool())
            .await?;
        Ok((open.len() == 1).then_some(open))
    })
    .await?;
    assert_eq!(open, ["large"]);
    let _fitting = house.worker(
        WORKER,
        &WorkerArguments {
            models: vec!["large"],
            ..WorkerArguments::default()
        },
    )?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_run_begins_nothing_until_it_is_resumed() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok"] })).await?;
    executions::pause(house.pool(), run).await?;
    assert!(matches!(
        executions::pause(house.pool(), run).await,
        Err(StoreError::Conflict { .. })
    ));
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let other = house.begin(2, "script", 1, json!({ "items": ["ok", "ok"] })).await?;
    house.until_completed(other).await?;
    assert_eq!(
        house.diary("begin").await?.iter().map(|(_, times)| times).sum::<i64>(),
        2
    );
    executions::resume(house.pool(), run).await?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_failed_run_goes_on_when_it_is_resumed() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house
        .begin_with(
            1,
            "script",
            1,
            json!({ "items": ["stumble"] }),
            json!({ "max_attempts": 1 }),
        )
        .await?;
    house.until_failed(run).await?;
    sqlx::query("UPDATE work SET max_attempts = 2")
        .execute(house.pool())
        .await?;
    executions::resume(house.pool(), run).await?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_has_failed_keeps_its_reason_when_more_of_its_items_fail() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({})]).await?;
    let slot = slot(&house).await?;
    let mut claims = Vec::new();
    for _ in 0..2 {
        claims.push(claim(house.pool(), &slot).await?.context("an item")?);
    }
    let end = || async {
        let end: (String, Option<String>, Option<String>, i64) =
            sqlx::query_as("SELECT state, error, finished_at::text, last_event FROM executions")
                .fetch_one(house.pool())
                .await?;
        anyhow::Ok(end)
    };
    let failure = |message: &str| Failure {
        kind: FailureKind::Error,
        message: message.to_owned(),
        retry: false,
    };
    fail(house.pool(), &claims[0], &failure("the first")).await?;
    let first = end().await?;
    assert!(first.0 == "failed" && first.1.as_ref().is_some_and(|error| error.contains("the first")));
    fail(house.pool(), &claims[1], &failure("the second")).await?;
    assert_eq!(end().await?, first);
    assert_eq!(house.count("work WHERE state = 'failed'").await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_fork_goes_on_from_its_step_with_members_of_its_own() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "relay", 3, json!({})).await?;
    house.until_completed(run).await?;

    let id = ExecutionId(Uuid::from_u128(2));
    let state = runs::state_at(house.pool(), run, 2).await?;
    let config = RunConfig {
        steps: 5,
        ..(*state.config).clone()
    };
    let mut tx = house.pool().begin().await?;
    let registry = registry();
    let fork = runs::Fork {
        id,
        from: run,
        step: 2,
        state,
        name: "branch",
        config: &config,
        metrics: &registry.get("relay")?.metric_names(),
        trace_id: None,
    };
    runs::fork(&mut tx, &fork).await?;
    tx.commit().await?;
    house.until_completed(id).await?;

    let ordinals: Vec<i32> =
        sqlx::query_scalar("SELECT max(ordinal) FROM adapter_versions WHERE run_id = $1 GROUP BY member_id")
            .bind(id.0)
            .fetch_all(house.pool())
            .await?;
    assert_eq!(
        ordinals,
        [5, 5],
        "two from before the fork and three of its own, above birth"
    );
    let shared: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM adapter_versions a JOIN adapter_versions b USING (artifact)
         WHERE a.run_id = $1 AND b.run_id = $2 AND a.ordinal = b.ordinal",
    )
    .bind(run.0)
    .bind(id.0)
    .fetch_one(house.pool())
    .await?;
    assert!(
        shared >= 6,
        "birth and both updates before the fork are the same weights"
    );
    let (Json(first), from): (Json<serde_json::Value>, i32) = sqlx::query_as(
        "SELECT s.state, r.forked_at_step FROM run_states s JOIN runs r ON r.id = s.execution_id
         WHERE s.execution_id = $1 ORDER BY s.step LIMIT 1",
    )
    .bind(id.0)
    .fetch_one(house.pool())
    .await?;
    assert_eq!((first["step"].as_u64(), from), (Some(2), 2));
    let missing = runs::state_at(house.pool(), run, 9).await;
    assert!(
        matches!(missing, Err(StoreError::NoSuchStep { first: 0, last: 3, .. })),
        "{missing:?}"
    );
    Ok(())
}
