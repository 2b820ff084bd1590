//! R-Zero over the real queue and database, with scripted players for engine and verifier.

use anyhow::Result;
use lyceum_core::{id::ExecutionId, seed::stream};
use lyceum_system_tests::house::{House, WorkerArguments};
use rand::Rng as _;
use serde_json::{Value, json};
use std::time::Duration;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
const RUN: u128 = 1;

/// Two iterations of all stages, with a mask, and two populations of different bases.
fn document() -> Value {
    let population = |base: &str, role: &str, count: u32| {
        json!({
            "base_model": {"name": base},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": [{"roles": [role], "count": count}],
        })
    };
    json!({
        "recipe": "rzero",
        "seed": 7,
        "steps": 8,
        "populations": {"proposers": population("tiny", "proposer", 1), "solvers": population("small", "solver", 2)},
        "parameters": {
            "iterations": 2,
            "prompts": {"set": "seedling-math"},
            "proposer": {"steps": 1, "prompts": 6, "learning": {"loss": {"kl": 0.01}}},
            "curriculum": {"questions": 24},
            "solver": {"steps": 1, "questions": 4, "n": 3, "learning": {"loss": {"kl": 0.01}}},
            "vocabulary_dropout": {"keep_rate": 0.9, "protected_texts": ["<question>"]},
            "items": {"propose": 4, "solve": 6, "update": 1},
        },
        "scheduling": {"max_attempts": 100},
    })
}

async fn count(house: &House, table: &str) -> Result<i64> {
    Ok(
        sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(house.pool())
            .await?,
    )
}

/// Plays an undisturbed run to its end.
async fn undisturbed() -> Result<(House, ExecutionId)> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let arguments = WorkerArguments {
        pause: Duration::ZERO,
        ..WorkerArguments::default()
    };
    let _worker = house.worker(WORKER, &arguments)?;
    let run = house.begin_document(RUN, &document()).await?;
    house.until_completed(run).await?;
    Ok((house, run))
}

#[tokio::test]
async fn a_run_killed_ten_times_ends_as_if_nothing_had_happened() -> Result<()> {
    let house = House::new().await?;
    let mut server = house.server(SERVER)?;
    let mut worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin_document(RUN, &document()).await?;
    let mut entries = 0;
    for kill in 0..10 {
        entries += stream(3, "kill", kill).random_range(4..12);
        house.until_entries(entries).await?;
        if kill % 2 == 0 {
            worker.kill()?;
            house.bury().await?;
            worker = house.worker(WORKER, &WorkerArguments::default())?;
        } else {
            server.kill()?;
            server = house.server(SERVER)?;
        }
    }
    house.until_completed(run).await?;
    assert_eq!(count(&house, "problems").await?, 2 * (6 * 4 + 24));
    let stages: Vec<String> = sqlx::query_scalar("SELECT stage FROM steps ORDER BY step")
        .fetch_all(house.pool())
        .await?;
    let iteration = ["proposer", "curriculum", "solver", "diversity"];
    assert_eq!(stages, [iteration, iteration].concat());
    let vectors: i64 = count(&house, "work WHERE phase = 'diversity'").await?;
    assert_eq!(vectors, 2);
    let (calm, same) = undisturbed().await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    drop((server, worker));
    Ok(())
}
