//! Which worker gets which item, and when.

use anyhow::{Context as _, Result};
use lyceum_core::config::RunConfig;
use lyceum_core::id::{ExecutionId, WorkerId};
use lyceum_core::work::{Device, Kernels, Sampler, Trainer, WorkKind};
use lyceum_store::queue::{self, Lane};
use lyceum_store::work::{Claim, Failure, FailureKind, Slot, claim, claim_next, fail};
use lyceum_store::workers::{Doing, NewWorker, register, seen};
use lyceum_store::{StoreError, executions, runs};
use lyceum_system_tests::house::{House, WorkerArguments, registry, until};
use serde_json::json;
use sqlx::types::Json;
use std::time::Duration;
use uuid::Uuid;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

/// A slot of the registered worker that can take anything.
async fn slot(house: &House) -> Result<Slot> {
    let worker = sqlx::query_scalar("SELECT id FROM workers LIMIT 1").fetch_one(house.pool()).await.map(Uuid::into)?;
    Ok(Slot {
        worker,
        kinds: WorkKind::ALL.to_vec(),
        sampler: Sampler::Engine,
        trainers: vec![Trainer::Engine],
        device: Device::Cpu,
        kernels: None,
        base_models: None,
        loaded_models: Vec::new(),
        lacking: Vec::new(),
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

/// Another worker that is present, with a slot that can take anything.
async fn another(house: &House, id: u128) -> Result<Slot> {
    let id = WorkerId(Uuid::from_u128(id));
    let new = NewWorker {
        id,
        name: "another",
        host: "",
        device: "cpu",
        kernels: None,
        kinds: &WorkKind::ALL,
        samplers: &[],
        trainers: &[],
        base_models: &[],
        memory_bytes: u64::MAX,
        versions: json!({}),
    };
    register(house.pool(), &new).await?;
    Ok(Slot { worker: id, ..slot(house).await? })
}

/// What a slot can claim, by chunks.
async fn chunks(house: &House, slot: &Slot) -> Result<Vec<u32>> {
    let mut chunks = Vec::new();
    while let Some(claim) = claim(house.pool(), slot).await? {
        chunks.push(claim.key.chunk);
    }
    Ok(chunks)
}

/// Fails a claim and makes the item due.
async fn failed(house: &House, claim: &Claim) -> Result<()> {
    let failure = Failure { kind: FailureKind::Error, message: "no space left".to_owned(), retry: true };
    fail(house.pool(), claim, &failure).await?;
    sqlx::query("UPDATE work SET run_at = now() WHERE id = $1").bind(claim.id.0).execute(house.pool()).await?;
    Ok(())
}

/// The runs that consecutive claims of one slot go to, each of which ends before the next.
async fn turns(house: &House, slot: &Slot, count: usize) -> Result<Vec<u128>> {
    let mut runs = Vec::new();
    for _ in 0..count {
        let claim = claim(house.pool(), slot).await?;
        runs.push(claim.map_or(0, |claim| claim.execution.0.as_u128()));
        let end =
            "UPDATE work SET state = 'cancelled', lease_until = NULL, finished_at = now() WHERE state = 'running'";
        sqlx::query(end).execute(house.pool()).await?;
    }
    Ok(runs)
}

/// A run that was created, and whose items were begun, this number of seconds ago.
async fn ago(house: &House, run: u128, seconds: f64) -> Result<()> {
    for past in [
        "UPDATE executions SET created_at = now() - $2 * interval '1 second' WHERE id = $1",
        "UPDATE work SET started_at = now() - $2 * interval '1 second', finished_at = now() - $2 * interval '1 second'
             WHERE execution_id = $1 AND started_at IS NOT NULL",
    ] {
        sqlx::query(past).bind(Uuid::from_u128(run)).bind(seconds).execute(house.pool()).await?;
    }
    Ok(())
}

/// Runs with six planned, unstarted items each, by their scheduling.
async fn planned(house: &House, schedulings: &[serde_json::Value]) -> Result<()> {
    let server = house.server(SERVER)?;
    let worker = house.worker(WORKER, &WorkerArguments { models: vec!["none"], ..WorkerArguments::default() })?;
    for (id, scheduling) in (1..).zip(schedulings) {
        house.begin_with(id, "script", 1, json!({ "items": vec!["ok"; 6] }), scheduling.clone()).await?;
    }
    let wanted = 6 * i64::try_from(schedulings.len())?;
    until("all items are planned", || async {
        let items: i64 = sqlx::query_scalar("SELECT count(*) FROM work").fetch_one(house.pool()).await?;
        let workers: i64 = sqlx::query_scalar("SELECT count(*) FROM workers").fetch_one(house.pool()).await?;
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

/// With fewer slots than runs nearly all hold nothing, and the one with the oldest items must not go first till its end.
#[tokio::test]
async fn runs_take_turns_at_a_single_slot() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({}), json!({})]).await?;
    sqlx::query("UPDATE executions SET state = 'paused' WHERE id = $1")
        .bind(Uuid::from_u128(2))
        .execute(house.pool())
        .await?;
    let slot = slot(&house).await?;
    assert_eq!(turns(&house, &slot, 4).await?, [1, 3, 1, 3]);
    executions::resume(house.pool(), ExecutionId(Uuid::from_u128(2))).await?;
    assert_eq!(turns(&house, &slot, 4).await?, [2, 1, 3, 2], "what waited longest goes first");
    Ok(())
}

#[tokio::test]
async fn a_run_on_another_base_waits_no_more_than_a_minute_for_its_turn() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({}), json!({})]).await?;
    sqlx::query("UPDATE work SET base_model = 'other' WHERE execution_id = $1")
        .bind(Uuid::from_u128(3))
        .execute(house.pool())
        .await?;
    let slot = Slot { loaded_models: vec!["tiny".to_owned()], ..slot(&house).await? };
    assert_eq!(turns(&house, &slot, 4).await?, [1, 2, 1, 2], "no base is loaded for one item");
    ago(&house, 3, 30.0).await?;
    assert_eq!(turns(&house, &slot, 1).await?, [1]);
    ago(&house, 3, 61.0).await?;
    let birth = "UPDATE work SET kind = 'evolve', state = 'cancelled', started_at = now(), finished_at = now() WHERE execution_id = $1 AND chunk = 5";
    sqlx::query(birth).bind(Uuid::from_u128(3)).execute(house.pool()).await?;
    assert_eq!(turns(&house, &slot, 2).await?, [3, 2], "a birth was no turn; one turn, then the loaded base again");
    // A turn counts until its item's end, so a base with short items keeps the worker for as long as one with long items.
    let long = "UPDATE work SET started_at = now() - interval '90 seconds', finished_at = now() - interval '20 seconds'
        WHERE execution_id = $1 AND kind <> 'evolve' AND started_at IS NOT NULL";
    sqlx::query(long).bind(Uuid::from_u128(3)).execute(house.pool()).await?;
    assert_eq!(turns(&house, &slot, 1).await?, [1], "it ended 20 seconds ago");
    // Where items take longer than that, each run has waited for as long.
    for (run, seconds) in [(1, 500.0), (2, 400.0), (3, 600.0)] {
        ago(&house, run, seconds).await?;
    }
    assert_eq!(turns(&house, &slot, 3).await?, [3, 1, 2], "the longest wait first");
    Ok(())
}

/// A run has no item that is ready while its answers are verified and its next phase is planned.
#[tokio::test]
async fn a_base_stays_for_its_run_between_two_phases() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({})]).await?;
    sqlx::query("UPDATE work SET base_model = 'other' WHERE execution_id = $1")
        .bind(Uuid::from_u128(2))
        .execute(house.pool())
        .await?;
    let slot = Slot { loaded_models: vec!["tiny".to_owned()], ..slot(&house).await? };
    assert_eq!(turns(&house, &slot, 1).await?, [1]);
    sqlx::query("UPDATE work SET run_at = now() + interval '1 hour' WHERE execution_id = $1 AND state = 'ready'")
        .bind(Uuid::from_u128(1))
        .execute(house.pool())
        .await?;
    assert_eq!(turns(&house, &slot, 1).await?, [0], "its next phase is soon planned");
    let elsewhere = Slot { loaded_models: Vec::new(), ..slot.clone() };
    assert_eq!(turns(&house, &elsewhere, 1).await?, [2], "other workers need not wait");
    ago(&house, 1, 6.0).await?;
    assert_eq!(turns(&house, &slot, 1).await?, [2], "it was not");
    ago(&house, 1, 1.0).await?;
    ago(&house, 2, 61.0).await?;
    assert_eq!(turns(&house, &slot, 1).await?, [2], "it has waited for a minute");
    Ok(())
}

/// A claim that goes on locks its own item and no other run's.
#[tokio::test]
async fn claims_at_one_moment_each_find_an_item() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({})]).await?;
    sqlx::query("DELETE FROM work WHERE chunk > 2 OR chunk > 0 AND execution_id = $1")
        .bind(Uuid::from_u128(2))
        .execute(house.pool())
        .await?;
    let slow = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$;
        CREATE TRIGGER wait BEFORE UPDATE ON work FOR EACH ROW EXECUTE FUNCTION wait()";
    sqlx::raw_sql(slow).execute(house.pool()).await?;
    let mut gate = house.pool().acquire().await?;
    sqlx::query("SELECT pg_advisory_lock(7)").execute(&mut *gate).await?;
    let mut claims = Vec::new();
    for at_once in 1..=4 {
        let (db, slot) = (house.pool().clone(), slot(&house).await?);
        claims.push(tokio::spawn(async move { claim(&db, &slot).await }));
        until("the claim waits or has found nothing", || async {
            let waiting: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                 WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objid = 7 AND NOT l.granted",
            )
            .fetch_one(house.pool())
            .await?;
            Ok((waiting == at_once || claims.iter().any(|claim| claim.is_finished())).then_some(()))
        })
        .await?;
    }
    sqlx::query("SELECT pg_advisory_unlock(7)").execute(&mut *gate).await?;
    let mut found = Vec::new();
    for claim in claims {
        found.push(claim.await??.map(|claim| (claim.execution.0.as_u128(), claim.key.chunk)));
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.len() == 4 && !found.contains(&None), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn an_item_that_a_worker_failed_goes_to_another_first() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({ "max_attempts": 20 })]).await?;
    let (first, second) = (slot(&house).await?, another(&house, 1).await?);
    let take = async |slot: &Slot| anyhow::Ok(claim(house.pool(), slot).await?.expect("an item"));
    failed(&house, &take(&first).await?).await?;
    assert_eq!(chunks(&house, &first).await?, [1, 2, 3, 4, 5], "the failed one is left to the other");
    let again = take(&second).await?;
    assert_eq!(again.key.chunk, 0);
    failed(&house, &again).await?;
    failed(&house, &take(&first).await?).await?;

    let third = another(&house, 2).await?;
    assert!(chunks(&house, &first).await?.is_empty() && chunks(&house, &second).await?.is_empty());
    sqlx::query("UPDATE work SET run_at = now() - interval '5 minutes' WHERE state = 'ready'")
        .execute(house.pool())
        .await?;
    failed(&house, &take(&first).await?).await?;
    sqlx::query("UPDATE workers SET kinds = '{verify}' WHERE id = $1")
        .bind(third.worker.0)
        .execute(house.pool())
        .await?;
    failed(&house, &take(&first).await?).await?;
    sqlx::query("UPDATE workers SET kinds = '{rollout}' WHERE id = $1")
        .bind(third.worker.0)
        .execute(house.pool())
        .await?;
    assert!(chunks(&house, &first).await?.is_empty());
    seen(house.pool(), third.worker, Doing::Stopped, &[]).await?;
    assert_eq!(chunks(&house, &first).await?, [0], "nobody is left who might do better");
    Ok(())
}

#[tokio::test]
async fn items_whose_base_a_worker_lacks_are_left_to_others_if_there_are_any() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({}), json!({})]).await?;
    let run = |id| ExecutionId(Uuid::from_u128(id));
    let slot = Slot { lacking: vec![(run(1), "tiny".to_owned()), (run(2), "large".to_owned())], ..slot(&house).await? };
    let other = another(&house, 1).await?;
    assert_eq!(turns(&house, &slot, 3).await?, [2, 2, 2], "the same base as another run asks for it");
    seen(house.pool(), other.worker, Doing::Draining, &[]).await?;
    assert_eq!(turns(&house, &slot, 1).await?, [1]);
    Ok(())
}

/// Otherwise a worker on which items end at once would take them all.
#[tokio::test]
async fn a_worker_leaves_the_rest_to_others_when_it_has_no_base_for_one_item() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let one = WorkerArguments { slots: 1, ..WorkerArguments::default() };
    let busy = house.worker(WORKER, &one)?;
    until("the first worker is there", || async { Ok((house.count("apalis.workers").await? == 2).then_some(())) })
        .await?;
    busy.freeze()?;
    let _lacking = house.worker(WORKER, &WorkerArguments { name: Some("anna"), ..one })?;
    let run = house.begin(1, "script", 1, json!({ "items": ["lack", "ok", "ok", "ok"] })).await?;
    let tried = "work WHERE errors -> 0 ->> 'message' = 'worker anna: the script has no base'";
    until("an item has failed", || async { Ok((house.count(tried).await? == 1).then_some(())) }).await?;
    // Long enough for a worker that goes on to take the next item.
    let last_seen = || async {
        let query = sqlx::query_scalar("SELECT extract(epoch FROM last_seen)::float8 FROM workers WHERE name = 'anna'");
        anyhow::Ok(query.fetch_one(house.pool()).await?)
    };
    for _ in 0..2 {
        let before: f64 = last_seen().await?;
        until("a heartbeat", || async { Ok((last_seen().await? > before).then_some(())) }).await?;
    }
    assert_eq!(house.entries().await?, 1, "it went on");
    busy.thaw()?;
    house.until_completed(run).await?;
    let by_anna = "work w JOIN workers k ON k.id = w.worker_id WHERE k.name = 'anna'";
    assert_eq!(house.count(by_anna).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_base_that_the_only_worker_lacks_fails_the_run_with_its_name() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let anna = WorkerArguments { name: Some("anna"), ..WorkerArguments::default() };
    let _worker = house.worker(WORKER, &anna)?;
    let items = json!({ "items": ["lack 9"] });
    let run = house.begin_with(1, "script", 1, items, json!({ "max_attempts": 2 })).await?;
    house.until_failed(run).await?;
    let error: String = sqlx::query_scalar("SELECT error FROM executions").fetch_one(house.pool()).await?;
    assert!(error.ends_with("failed after 2 of 2 tries: worker anna: the script has no base"), "{error}");
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
    sqlx::query("UPDATE work SET kind = 'update' WHERE chunk < 4").execute(house.pool()).await?;
    sqlx::query("UPDATE work SET trainer = 'torchrun' WHERE chunk < 3").execute(house.pool()).await?;
    let slot = slot(&house).await?;
    let claimed = async |trainers: &[Trainer]| -> Result<Vec<u32>> {
        let slot = Slot { trainers: trainers.to_vec(), ..slot.clone() };
        let mut chunks = Vec::new();
        while let Some(claim) = claim(house.pool(), &slot).await? {
            chunks.push(claim.key.chunk);
            if chunks.len() == 2 && trainers.len() > 1 {
                break;
            }
        }
        Ok(chunks)
    };
    assert_eq!(claimed(&[Trainer::Engine, Trainer::Torchrun]).await?, [0, 1], "the oldest first");
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
        let slot = Slot { device, memory_bytes, ..slot.clone() };
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

#[tokio::test]
async fn an_item_goes_only_to_a_worker_whose_processor_has_its_instruction_set() -> Result<()> {
    let house = House::new().await?;
    planned(&house, &[json!({})]).await?;
    let needs = "UPDATE work SET kernels = CASE WHEN chunk < 2 THEN 'avx512' WHEN chunk = 2 THEN 'amx' END";
    sqlx::query(needs).execute(house.pool()).await?;
    for (kernels, expected) in [
        (None, [3, 4, 5].as_slice()),
        (Some(Kernels::Avx2), &[]),
        (Some(Kernels::Amx), &[2]),
        (Some(Kernels::Avx512), &[0, 1]),
    ] {
        let slot = Slot { kernels, ..slot(&house).await? };
        assert_eq!(chunks(&house, &slot).await?, expected, "{kernels:?}");
    }
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
    let _other = house.worker(WORKER, &WorkerArguments { models: vec!["small"], ..WorkerArguments::default() })?;
    let run = house.begin(1, "script", 1, json!({ "items": ["need large", "need small"] })).await?;
    house.until_entries(2).await?;
    let open = until("one item is done", || async {
        let open: Vec<String> =
            sqlx::query_scalar("SELECT base_model FROM work WHERE state <> 'done'").fetch_all(house.pool()).await?;
        Ok((open.len() == 1).then_some(open))
    })
    .await?;
    assert_eq!(open, ["large"]);
    let _fitting = house.worker(WORKER, &WorkerArguments { models: vec!["large"], ..WorkerArguments::default() })?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_run_begins_nothing_until_it_is_resumed() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok"] })).await?;
    executions::pause(house.pool(), run).await?;
    assert!(matches!(executions::pause(house.pool(), run).await, Err(StoreError::Conflict { .. })));
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let other = house.begin(2, "script", 1, json!({ "items": ["ok", "ok"] })).await?;
    house.until_completed(other).await?;
    assert_eq!(house.diary("begin").await?.iter().map(|(_, times)| times).sum::<i64>(), 2);
    executions::resume(house.pool(), run).await?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_failed_run_goes_on_when_it_is_resumed() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin_with(1, "script", 1, json!({ "items": ["stumble"] }), json!({ "max_attempts": 1 })).await?;
    house.until_failed(run).await?;
    sqlx::query("UPDATE work SET max_attempts = 2").execute(house.pool()).await?;
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
    let failure = |message: &str| Failure { kind: FailureKind::Error, message: message.to_owned(), retry: false };
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
    let config = RunConfig { steps: 5, ..(*state.config).clone() };
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
    assert_eq!(ordinals, [5, 5], "two from before the fork and three of its own, above birth");
    let shared: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM adapter_versions a JOIN adapter_versions b USING (artifact)
         WHERE a.run_id = $1 AND b.run_id = $2 AND a.ordinal = b.ordinal",
    )
    .bind(run.0)
    .bind(id.0)
    .fetch_one(house.pool())
    .await?;
    assert!(shared >= 6, "birth and both updates before the fork are the same weights");
    let (Json(first), from): (Json<serde_json::Value>, i32) = sqlx::query_as(
        "SELECT s.state, r.forked_at_step FROM run_states s JOIN runs r ON r.id = s.execution_id
         WHERE s.execution_id = $1 ORDER BY s.step LIMIT 1",
    )
    .bind(id.0)
    .fetch_one(house.pool())
    .await?;
    assert_eq!((first["step"].as_u64(), from), (Some(2), 2));
    let missing = runs::state_at(house.pool(), run, 9).await;
    assert!(matches!(missing, Err(StoreError::NoSuchStep { first: 0, last: 3, .. })), "{missing:?}");
    Ok(())
}
