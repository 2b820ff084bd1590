//! Measures the queue: time from push to start on an idle queue, small items per second through one worker, and how
//! soon another worker starts the item of a killed one.
//!
//! `cargo build --release -p lyceum-system-tests --bins && target/release/bench-queue`

use anyhow::Result;
use lyceum_core::work::{RolloutPayload, RolloutResult, WorkKind};
use lyceum_postgres::PrivatePostgres;
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::house::{House, WorkerArguments, registry, until};
use lyceum_worker::handler::{Context, Handler, HandlerError, Handlers};
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Items pushed one at a time.
const PUSHES: u128 = 200;
/// Items of the throughput run.
const ITEMS: usize = 3000;
/// Concurrent items.
const SLOTS: usize = 4;

/// Does nothing except record the time.
#[derive(Clone, Default)]
struct Nothing(Arc<Mutex<Vec<f64>>>);

impl Handler for Nothing {
    const KIND: WorkKind = WorkKind::Rollout;
    type Payload = RolloutPayload;
    type Outcome = RolloutResult;

    async fn run(self: Arc<Self>, _: RolloutPayload, _: Context) -> Result<RolloutResult, HandlerError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(now());
        Ok(RolloutResult::default())
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let postgres = PrivatePostgres::start(folder.path()).await?;
    let house = House::at(postgres.url()).await?;
    let artifacts = ArtifactStore::folder(&house.artifacts(), house.pool().clone())?;
    let coordinator = house.coordinate(registry())?;

    let nothing = Nothing::default();
    let handlers = Handlers::default().with(nothing.clone());
    let settings = RuntimeSettings { engine_slots: SLOTS, ..RuntimeSettings::default() };
    let store = Store::connect_worker(postgres.url(), 12).await?;
    let worker = Runtime::start(&store, artifacts.clone(), handlers.clone(), settings).await?;
    let mut waits = Vec::new();
    for id in 1..=PUSHES {
        let run = house.begin(id, "script", 1, json!({ "items": ["ok"] })).await?;
        house.until_completed(run).await?;
        let pushed: f64 =
            sqlx::query_scalar("SELECT extract(epoch FROM created_at)::float8 FROM work WHERE execution_id = $1")
                .bind(run.0)
                .fetch_one(house.pool())
                .await?;
        let started = nothing.0.lock().unwrap_or_else(PoisonError::into_inner).last().copied().unwrap_or_default();
        waits.push((started - pushed) * 1000.0);
    }
    worker.drain().await;
    waits.sort_by(f64::total_cmp);
    println!(
        "push to start, idle queue, {PUSHES} pushes: median {:.1} ms, p99 {:.1} ms (limit: median 20 ms)",
        quantile(&waits, 0.5),
        quantile(&waits, 0.99),
    );

    let run = house.begin(PUSHES + 1, "script", 1, json!({ "items": vec!["ok"; ITEMS] })).await?;
    until("all items are planned", || async {
        let planned: i64 = sqlx::query_scalar("SELECT count(*) FROM work WHERE execution_id = $1")
            .bind(run.0)
            .fetch_one(house.pool())
            .await?;
        Ok((planned == i64::try_from(ITEMS)?).then_some(()))
    })
    .await?;
    let settings = RuntimeSettings { engine_slots: SLOTS, ..RuntimeSettings::default() };
    let started = Instant::now();
    let worker = Runtime::start(&store, artifacts, handlers, settings).await?;
    house.until_completed(run).await?;
    let rate = ITEMS as f64 / started.elapsed().as_secs_f64();
    println!("small items, one worker with {SLOTS} slots, {ITEMS} items: {rate:.0} per second (limit: 300 per second)");
    worker.drain().await;
    recovery(&house).await?;
    coordinator.stop().await;
    postgres.stop().await;
    Ok(())
}

/// Kills a worker in the middle of an item, with default settings, and measures the time to the item's next start.
async fn recovery(house: &House) -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("scripted-worker");
    let program = program.to_string_lossy();
    let defaults = RuntimeSettings::default();
    let slow = WorkerArguments {
        pause: Duration::from_secs(600),
        lease: defaults.lease,
        heartbeat: defaults.heartbeat,
        ..WorkerArguments::default()
    };
    let quick = WorkerArguments { pause: Duration::ZERO, ..slow.clone() };
    let run = house.begin(PUSHES + 2, "script", 1, json!({ "items": ["ok"] })).await?;
    let attempts = async |wanted: i32| {
        until(&format!("try {wanted} of the item"), || async {
            let tries: i32 = sqlx::query_scalar("SELECT attempts FROM work WHERE execution_id = $1")
                .bind(run.0)
                .fetch_optional(house.pool())
                .await?
                .unwrap_or(0);
            Ok((tries >= wanted).then_some(()))
        })
        .await
    };
    let doomed = house.worker(&program, &slow)?;
    attempts(1).await?;
    let _other = house.worker(&program, &quick)?;
    doomed.kill()?;
    let killed = Instant::now();
    attempts(2).await?;
    println!(
        "kill -9 of a worker to the next start of its item: {:.1} s (limit: 40 s)",
        killed.elapsed().as_secs_f64()
    );
    house.until_completed(run).await?;
    Ok(())
}
