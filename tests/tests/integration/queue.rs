//! One test for each known defect of the queue's crate, showing that it does not affect Lyceum.

use anyhow::Result;
use lyceum_core::id::ExecutionId;
use lyceum_postgres::PrivatePostgres;
use lyceum_store::executions;
use lyceum_store::listener::{Listener, Notification};
use lyceum_store::queue::{self, Lane};
use lyceum_system_tests::house::{House, WorkerArguments, until};
use serde_json::{Value, json};
use std::time::Duration;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

async fn work(house: &House, run: ExecutionId) -> Result<Vec<(String, i32, Value)>> {
    Ok(sqlx::query_as("SELECT state, attempts, errors FROM work WHERE execution_id = $1 ORDER BY chunk")
        .bind(run.0)
        .fetch_all(house.pool())
        .await?)
}

/// A run whose items are planned and have no tickets, with nobody at work.
async fn planned(house: &House, items: &[&str]) -> Result<ExecutionId> {
    let server = house.server(SERVER)?;
    let run = house.begin(1, "script", 1, json!({ "items": items })).await?;
    until("the items are planned", || async { Ok((work(house, run).await?.len() == items.len()).then_some(())) })
        .await?;
    server.stop()?;
    sqlx::query("DELETE FROM apalis.jobs").execute(house.pool()).await?;
    Ok(run)
}

async fn tried_again(house: &House) -> Result<Vec<String>> {
    let again =
        "SELECT concat_ws(' ', phase, chunk, 'try', attempts, errors) FROM work WHERE errors <> '[]' ORDER BY seq";
    Ok(sqlx::query_scalar(again).fetch_all(house.pool()).await?)
}

/// A poll interval that re-arms its timer without polling it sleeps for ever. Here only the tick can wake a worker: the
/// heartbeat is far away, a ticket that becomes due is not announced, and no server issues another.
#[tokio::test]
async fn a_ticket_that_becomes_due_is_not_slept_through() -> Result<()> {
    let house = House::new().await?;
    let run = planned(&house, &["ok"]).await?;
    let _worker =
        house.worker(WORKER, &WorkerArguments { heartbeat: Duration::from_secs(600), ..WorkerArguments::default() })?;
    until("the worker reads its queues", || async {
        let readers: i64 = sqlx::query_scalar("SELECT count(*) FROM apalis.workers").fetch_one(house.pool()).await?;
        Ok((readers == 2).then_some(()))
    })
    .await?;
    sqlx::query(
        "INSERT INTO apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
         VALUES (apalis.generate_ulid(), $1, '{}', 'Pending', 0, 1, now() + interval '1 second', 0)",
    )
    .bind(Lane::Engine.queue())
    .execute(house.pool())
    .await?;
    until("the item is done", || async { Ok((work(&house, run).await?[0].0 == "done").then_some(())) }).await
}

/// Retries are not announced when they become due either: the sweep that finds them issues their tickets.
#[tokio::test]
async fn an_item_that_was_put_back_is_not_slept_through() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let heartbeat = Duration::from_secs(600);
    let _worker = house.worker(WORKER, &WorkerArguments { heartbeat, ..WorkerArguments::default() })?;
    for id in 1..=3 {
        let run = house.begin(id, "script", 1, json!({ "items": ["stumble", "stumble"] })).await?;
        house.until_completed(run).await?;
    }
    Ok(())
}

/// Tickets waiting in a worker's buffer are mistaken for orphans after six heartbeats, and delivered again.
#[tokio::test]
async fn items_longer_than_the_orphan_window_are_begun_once() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let arguments = WorkerArguments {
        pause: Duration::from_millis(1500),
        heartbeat: Duration::from_millis(100),
        ..WorkerArguments::default()
    };
    let _workers = [house.worker(WORKER, &arguments)?, house.worker(WORKER, &arguments)?];
    let run = house.begin(1, "script", 1, json!({ "items": vec!["ok"; 8] })).await?;
    house.until_completed(run).await?;
    let mut again = house.diary("begin").await?;
    again.retain(|(_, times)| *times != 1);
    assert!(again.is_empty(), "begun more than once: {again:?}, {:?}", tried_again(&house).await?);
    Ok(())
}

/// A dead worker keeps its job as long as a worker of the same name is alive.
#[tokio::test]
async fn a_successor_of_the_same_name_does_not_keep_the_dead_ones_work() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let slow = WorkerArguments {
        pause: Duration::from_secs(600),
        // Here it expires by time.
        lease: Duration::from_secs(2),
        name: Some("anna"),
        ..WorkerArguments::default()
    };
    let dead = house.worker(WORKER, &slow)?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok"] })).await?;
    house.until_entries(1).await?;
    dead.kill()?;
    let _successor = house.worker(WORKER, &WorkerArguments { name: Some("anna"), ..WorkerArguments::default() })?;
    house.until_completed(run).await?;
    let left = work(&house, run).await?;
    let (state, tries, errors) = &left[0];
    assert!(state == "done" && *tries >= 2, "{left:?}");
    assert_eq!(errors[0]["kind"], "lost", "{left:?}");
    Ok(())
}

/// Orphans are delivered again no matter how often they have killed their worker.
#[tokio::test]
async fn an_item_that_kills_its_workers_is_given_up() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let run = house.begin_with(1, "script", 1, json!({ "items": ["abort"] }), json!({ "max_attempts": 2 })).await?;
    let mut worker = house.worker(WORKER, &WorkerArguments::default())?;
    let mut deaths = 0;
    let state = until("the item is given up", || {
        let dead = !worker.is_alive().unwrap_or(true);
        if dead && deaths < 5 {
            deaths += 1;
            worker = house.worker(WORKER, &WorkerArguments::default()).expect("a worker starts");
        }
        let house = &house;
        async move {
            if dead {
                house.bury().await?;
            }
            let state: String = sqlx::query_scalar("SELECT state FROM executions WHERE id = $1")
                .bind(run.0)
                .fetch_one(house.pool())
                .await?;
            Ok(Some(state).filter(|state| state != "running"))
        }
    })
    .await?;
    assert_eq!((state.as_str(), deaths), ("failed", 2));
    let (error, errors): (String, Value) = sqlx::query_as(
        "SELECT e.error, w.errors FROM executions e JOIN work w ON w.execution_id = e.id WHERE e.id = $1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    assert!(error.contains("0/act/0/0") && error.contains("2 of 2"), "{error}");
    assert_eq!(errors.as_array().map(Vec::len), Some(2));
    Ok(())
}

/// A panic leaves a job running as long as its worker lives.
#[tokio::test]
async fn a_panic_is_a_failure_that_the_worker_survives() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let mut worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin_with(1, "script", 1, json!({ "items": ["panic"] }), json!({ "max_attempts": 2 })).await?;
    house.until_failed(run).await?;
    let left = work(&house, run).await?;
    assert_eq!((left[0].0.as_str(), left[0].1), ("failed", 2));
    assert_eq!(
        (&left[0].2[1]["kind"], &left[0].2[1]["message"]),
        (&json!("panic"), &json!("panic: as the script says"))
    );
    let next = house.begin(2, "script", 1, json!({ "items": ["ok"] })).await?;
    house.until_completed(next).await?;
    assert!(worker.is_alive()?);
    Ok(())
}

/// A failed job is fetched again immediately, hundreds of times per second.
#[tokio::test]
async fn a_retry_waits_and_a_refusal_is_not_retried() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "script", 1, json!({ "items": ["stumble"] })).await?;
    house.until_completed(run).await?;
    let waited: bool = sqlx::query_scalar(
        "SELECT started_at >= (errors->0->>'at')::timestamptz + interval '1 second' FROM work WHERE execution_id = $1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    assert!(waited, "the second try did not wait for its time");
    let refused = house.begin(2, "script", 1, json!({ "items": ["refuse"] })).await?;
    house.until_failed(refused).await?;
    assert_eq!(work(&house, refused).await?[0].1, 1);
    Ok(())
}

/// A worker dies at its first failed query.
#[tokio::test]
async fn an_outage_of_the_database_ends_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let postgres = PrivatePostgres::start(folder.path()).await?;
    let house = House::at(postgres.url()).await?;
    let mut server = house.server(SERVER)?;
    let mut worker = house.worker(
        WORKER,
        &WorkerArguments {
            pause: Duration::from_millis(100),
            // A ticket handed out by the database but never received by the worker comes back after this time.
            lease: Duration::from_secs(10),
            ..WorkerArguments::default()
        },
    )?;
    let run = house.begin(1, "relay", 4, json!({})).await?;
    for outage in 1..=2 {
        house.until_entries(outage * 15).await?;
        let postmaster = postgres.pid().ok_or_else(|| anyhow::anyhow!("Postgres is not running"))?;
        assert!(std::process::Command::new("kill").args(["-9", &postmaster.to_string()]).status()?.success());
    }
    house.until_completed(run).await?;
    assert!(worker.is_alive()? && server.is_alive()?);
    drop((worker, server));
    postgres.stop().await;
    Ok(())
}

/// A handler that blocks its thread starves heartbeats, and its job is run twice. The same happens if it blocks the
/// threads on which connections were opened and claims are renewed through these.
#[tokio::test]
async fn a_blocking_handler_does_not_cost_its_claim() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let items = 2 * std::thread::available_parallelism()?.get();
    let arguments = WorkerArguments { lease: Duration::from_secs(15), slots: items, ..WorkerArguments::default() };
    let _worker = house.worker(WORKER, &arguments)?;
    let run = house.begin(1, "script", 1, json!({ "items": vec!["block"; items] })).await?;
    house.until_completed(run).await?;
    // An item whose connections were blocked for too long retries by itself, and keeps its claim until then.
    let mut again = tried_again(&house).await?;
    again.retain(|item| item.contains("\"lost\""));
    assert!(again.is_empty(), "claims were lost: {again:?}");
    Ok(())
}

/// A running job cannot be cancelled, and overwrites its cancellation.
#[tokio::test]
async fn a_cancelled_item_makes_room_and_stays_cancelled() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(
        WORKER,
        &WorkerArguments {
            // A worker learns of it when it renews its claim.
            lease: Duration::from_secs(2),
            slots: 1,
            ..WorkerArguments::default()
        },
    )?;
    let run = house.begin(1, "script", 1, json!({ "items": ["wait 600000"] })).await?;
    house.until_entries(1).await?;
    executions::cancel(house.pool(), run).await?;
    let next = house.begin(2, "script", 1, json!({ "items": ["ok"] })).await?;
    house.until_completed(next).await?;
    assert_eq!(work(&house, run).await?[0].0, "cancelled");
    assert_eq!(house.diary("end").await?.len(), 1, "only the second run's item came to its end");
    Ok(())
}

/// Tickets lost between queue and claim are replaced.
#[tokio::test]
async fn a_lost_ticket_is_replaced() -> Result<()> {
    let house = House::new().await?;
    let run = planned(&house, &["ok", "ok"]).await?;
    let server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    server.stop()?;
    queue::tidy(house.pool()).await?;
    Ok(())
}

/// apalis opens a connection for every queue that is listened to.
#[tokio::test]
async fn a_process_listens_over_one_connection() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "relay", 2, json!({})).await?;
    house.until_completed(run).await?;
    let listening: Vec<(String, i64)> = sqlx::query_as(
        "SELECT application_name, count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%' GROUP BY 1 ORDER BY 1",
    )
    .fetch_all(house.pool())
    .await?;
    assert_eq!(listening, [("lyceum".to_owned(), 1), ("lyceum-worker".to_owned(), 1)]);
    Ok(())
}

/// Notifications sent while a connection is down are lost, so the listener reports the interruption.
#[tokio::test]
async fn a_listener_says_when_it_may_have_missed_something() -> Result<()> {
    let house = House::new().await?;
    let mut listener = Listener::new(house.pool());
    let mut notifications = listener.subscribe("word", |payload| (payload != "to others").then(|| payload.to_owned()));
    let _listening = listener.start();
    assert_eq!(notifications.recv().await, Some(Notification::Missed), "whatever was said before");
    let away = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let ended: i64 = sqlx::query_scalar(away).fetch_one(house.pool()).await?;
    assert_eq!(ended, 1);
    assert_eq!(notifications.recv().await, Some(Notification::Missed));
    for said in ["to others", "hello"] {
        sqlx::query("SELECT pg_notify('word', $1)").bind(said).execute(house.pool()).await?;
    }
    assert_eq!(notifications.recv().await, Some(Notification::Received("hello".to_owned())));
    Ok(())
}
