//! Workers, servers and Postgres are killed at any moment; the resulting rows are the same.

use anyhow::{Context as _, Result};
use lyceum_core::seed::stream;
use lyceum_store::{executions, plan};
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::process::Process;
use lyceum_system_tests::script::END_THE_PLANNER;
use nix::sys::signal::Signal;
use rand::Rng as _;
use serde_json::json;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;
use uuid::Uuid;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
const RUN: u128 = 1;

/// The rows of an undisturbed run.
async fn undisturbed(steps: u32) -> Result<Vec<String>> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments { pause: Duration::ZERO, ..WorkerArguments::default() })?;
    let run = house.begin(RUN, "relay", steps, json!({})).await?;
    house.until_completed(run).await?;
    house.remains(run).await
}

#[tokio::test]
async fn fifty_kills_of_a_worker_change_nothing() -> Result<()> {
    const STEPS: u32 = 3;
    const KILLS: u64 = 50;
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let arguments = WorkerArguments { pause: Duration::from_millis(30), ..WorkerArguments::default() };
    // Many tries, since an unlucky item may be hit by every kill.
    let scheduling = json!({ "max_attempts": 100 });
    let run = house.begin_with(RUN, "relay", STEPS, json!({ "chunks": 30, "problems": 1 }), scheduling).await?;
    for kill in 0..KILLS {
        let target = house.entries().await? + entries_until_next(kill);
        // Workers wait slightly later, so the kill can hit anything, but the run does not end before all kills have happened.
        house.hold_at(Some(target + 3)).await?;
        let worker = house.worker(WORKER, &arguments)?;
        house.until_entries(target).await?;
        worker.kill()?;
        house.bury().await?;
    }
    house.hold_at(None).await?;
    let worker = house.worker(WORKER, &arguments)?;
    house.until_completed(run).await?;

    let calm = House::new().await?;
    let _server = calm.server(SERVER)?;
    let _worker = calm.worker(WORKER, &WorkerArguments { pause: Duration::ZERO, ..WorkerArguments::default() })?;
    let scheduling = json!({ "max_attempts": 100 });
    let same = calm.begin_with(RUN, "relay", STEPS, json!({ "chunks": 30, "problems": 1 }), scheduling).await?;
    calm.until_completed(same).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    drop(worker);
    Ok(())
}

/// Diary entries between one kill and the next: random but deterministic, and measured in work rather than time, so
/// that a kill hits the middle of the work however slow the machine is.
fn entries_until_next(kill: u64) -> i64 {
    stream(11, "kill", kill).random_range(1..4)
}

#[tokio::test]
async fn a_killed_server_goes_on_where_it_was() -> Result<()> {
    let house = House::new().await?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let mut server = house.server(SERVER)?;
    let run = house.begin(RUN, "relay", 4, json!({})).await?;
    for kill in 1..=4 {
        house.until_entries(kill * 12).await?;
        server.kill()?;
        server = house.server(SERVER)?;
    }
    house.until_completed(run).await?;
    assert_eq!(house.remains(run).await?, undisturbed(4).await?);
    drop(server);
    Ok(())
}

#[tokio::test]
async fn two_servers_and_four_workers_do_everything_once() -> Result<()> {
    let house = House::new().await?;
    let _servers = [house.server(SERVER)?, house.server(SERVER)?];
    let arguments = WorkerArguments { pause: Duration::from_millis(2), ..WorkerArguments::default() };
    let workers = (0..4).map(|_| house.worker(WORKER, &arguments)).collect::<Result<Vec<Process>>>()?;
    let mut runs = Vec::new();
    for id in RUN..RUN + 4 {
        runs.push(house.begin(id, "relay", 4, json!({})).await?);
    }
    for run in &runs {
        house.until_completed(*run).await?;
    }
    assert_eq!(house.remains(runs[0]).await?, undisturbed(4).await?);
    let begun: i64 =
        sqlx::query_scalar("SELECT count(*) FROM diary WHERE what = 'begin'").fetch_one(house.pool()).await?;
    let items: i64 = sqlx::query_scalar("SELECT count(*) FROM work").fetch_one(house.pool()).await?;
    let tried: Vec<String> =
        sqlx::query_scalar("SELECT concat_ws(' ', phase, attempts, errors) FROM work WHERE attempts <> 1")
            .fetch_all(house.pool())
            .await?;
    assert_eq!(begun, items, "an item was started twice: {tried:?}");
    for worker in workers {
        worker.stop()?;
    }
    let stopped: i64 =
        sqlx::query_scalar("SELECT count(*) FROM workers WHERE state = 'stopped'").fetch_one(house.pool()).await?;
    assert_eq!(stopped, 4, "a stopped worker signs off");
    Ok(())
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_hands_back_what_it_holds() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let slow =
        house.worker(WORKER, &WorkerArguments { pause: Duration::from_secs(600), ..WorkerArguments::default() })?;
    let run = house.begin(RUN, "script", 1, json!({ "items": ["ok"] })).await?;
    house.until_entries(1).await?;
    slow.stop()?;
    let (state, attempts): (String, i32) = sqlx::query_as("SELECT state, attempts FROM work WHERE execution_id = $1")
        .bind(run.0)
        .fetch_one(house.pool())
        .await?;
    assert_eq!((state.as_str(), attempts), ("ready", 0), "an interruption does not count as a try");
    let _quick = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_ends_its_planner_twice_is_set_aside_and_everything_else_goes_on() -> Result<()> {
    let house = House::new().await?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let poisoned = house.begin(RUN, "script", 1, json!({ "items": [END_THE_PLANNER] })).await?;
    let state = || async {
        let state = sqlx::query_as("SELECT state, error FROM executions WHERE id = $1").bind(poisoned.0);
        let state: (String, Option<String>) = state.fetch_one(house.pool()).await?;
        anyhow::Ok(state)
    };
    for _ in 0..2 {
        // A resumed run is tried twice again.
        for _ in 0..2 {
            let status = house.server(SERVER)?.ended()?;
            assert_eq!(status.signal(), Some(Signal::SIGABRT as i32), "{status}");
            assert_eq!(state().await?.0, "running");
        }
        let mut server = house.server(SERVER)?;
        let error = until("the run is set aside", || async {
            let (state, error) = state().await?;
            Ok(error.filter(|_| state == "failed"))
        })
        .await?;
        assert!(error.contains("the server's process ended 2 times in a row"), "{error}");
        let honest = house.begin(Uuid::now_v7().as_u128(), "script", 1, json!({ "items": ["ok"] })).await?;
        house.until_completed(honest).await?;
        assert!(server.is_alive()?);
        server.stop()?;
        executions::resume(house.pool(), poisoned).await?;
    }
    Ok(())
}

/// Kills that hit a planning by chance are not the run's fault: one that was finished between them starts anew.
#[tokio::test]
async fn a_planning_that_finishes_clears_those_before_it() -> Result<()> {
    let house = House::new().await?;
    let run = house.begin(RUN, "script", 1, json!({ "items": ["ok", "ok"] })).await?;
    let begin = |coordinator| plan::begin(house.pool(), run, Uuid::from_u128(coordinator));
    assert_eq!(begin(1).await?, Some(0));
    assert_eq!(begin(1).await?, Some(0), "its own record is not a crash");
    assert_eq!(begin(2).await?, Some(1));
    plan::give_up(house.pool(), run, Uuid::from_u128(1)).await?;
    assert_eq!(begin(3).await?, Some(2), "only its own coordinator removes a record");
    plan::give_up(house.pool(), run, Uuid::from_u128(3)).await?;
    assert_eq!(begin(4).await?, Some(0));
    plan::give_up(house.pool(), run, Uuid::from_u128(4)).await?;
    let reserved = plan::reserve(house.pool(), run).await?.context("nobody else plans it")?;
    let second = plan::reserve(house.pool(), run).await?;
    assert!(second.is_none(), "a planning that goes on is not taken for a crash");
    reserved.release().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM plannings").fetch_one(house.pool()).await?;
    assert_eq!(left, 0);
    Ok(())
}

/// Like a sleeping laptop: all claims have expired before any can be renewed, and the server is the first to check.
#[tokio::test]
async fn a_house_that_stood_still_has_lost_nobody() -> Result<()> {
    let house = House::new().await?;
    let server = house.server(SERVER)?;
    let arguments = WorkerArguments { lease: Duration::from_secs(2), slots: 1, ..WorkerArguments::default() };
    let worker = house.worker(WORKER, &arguments)?;
    let run = house.begin(RUN, "script", 1, json!({ "items": ["wait 2000", "ok", "ok"] })).await?;
    house.until_entries(1).await?;
    server.freeze()?;
    worker.freeze()?;
    until("the claim has run out", || async {
        let over = "SELECT count(*) FROM work WHERE state = 'running' AND lease_until < now() - interval '2 seconds'";
        let over: i64 = sqlx::query_scalar(over).fetch_one(house.pool()).await?;
        Ok((over == 1).then_some(()))
    })
    .await?;
    // A sweep replaces lost tickets, which shows that it has run.
    let tickets = "DELETE FROM apalis.jobs WHERE status IN ('Pending', 'Queued')";
    sqlx::query(tickets).execute(house.pool()).await?;
    server.thaw()?;
    until("the server has swept", || async {
        let tickets: i64 = sqlx::query_scalar("SELECT count(*) FROM apalis.jobs WHERE status IN ('Pending', 'Queued')")
            .fetch_one(house.pool())
            .await?;
        Ok((tickets > 0).then_some(()))
    })
    .await?;
    worker.thaw()?;
    house.until_completed(run).await?;
    let again: Vec<String> =
        sqlx::query_scalar("SELECT concat_ws(' ', phase, chunk, attempts, errors) FROM work WHERE attempts <> 1")
            .fetch_all(house.pool())
            .await?;
    assert!(again.is_empty(), "{again:?}");
    Ok(())
}

#[tokio::test]
async fn a_worker_whose_gpu_is_lost_takes_nothing_more_and_ends_with_an_error() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let one = WorkerArguments { slots: 1, ..WorkerArguments::default() };
    let items = ["lose-device", "ok", "ok"];
    let run = house.begin(RUN, "script", 1, json!({ "items": items })).await?;
    let ended = house.worker(WORKER, &one)?.ended()?;
    assert_eq!(ended.code(), Some(1), "{ended}");
    assert_eq!(house.diary("begin").await?.len(), 1, "it went on with a lost GPU");

    let _healthy = house.worker(WORKER, &one)?;
    house.until_completed(run).await?;
    let tries: Vec<i64> = house.diary("begin").await?.into_iter().map(|(_, tries)| tries).collect();
    assert_eq!(tries, [2, 1, 1], "the item that met the loss is tried again");
    Ok(())
}
