//! A run on the real engine and the real sandbox ends with the same bytes whenever its seed is the same, whatever was killed
//! on the way.

use anyhow::{Result, ensure};
use lyceum_core::{id::ExecutionId, seed::stream};
use lyceum_system_tests::house::{House, Process, WorkerArguments, until};
use rand::Rng as _;
use serde_json::{Value, json};
use std::path::Path;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
const RUN: u128 = 1;
/// Workers and servers that are killed, in turn.
const KILLS: u64 = 10;

/// Two teachers and two students on the model that ships, with one evolution.
fn document() -> Value {
    json!({
        "recipe": "populora",
        "seed": 7,
        "steps": 4,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj", "down_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts_per_matchup": 6,
            "samples_per_problem": 3,
            "evolution": {"every": 2},
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
            "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": 5e-4}},
            "archive": {"cells": 64},
            "items": {"propose": 4, "solve": 4, "update": 2},
        },
        "scheduling": {"max_attempts": 100},
    })
}

fn worker(house: &House) -> Result<Process> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let arguments = WorkerArguments {
        models_folder: Some(models),
        ..WorkerArguments::default()
    };
    house.worker(WORKER, &arguments)
}

async fn ended(house: &House, run: ExecutionId) -> Result<i64> {
    Ok(
        sqlx::query_scalar("SELECT coalesce(sum(ended), 0) FROM steps WHERE execution_id = $1")
            .bind(run.0)
            .fetch_one(house.pool())
            .await?,
    )
}

/// All rows of a run, with the digests of its adapters and optimizers, but for those that hold seconds.
async fn remains(house: &House, run: ExecutionId) -> Result<Vec<String>> {
    let timed = |row: &String| {
        ["result|", "metric|", "level|"]
            .iter()
            .any(|start| row.starts_with(start))
    };
    let mut rows = house.remains(run).await?;
    rows.retain(|row| !timed(row));
    ensure!(
        rows.iter().any(|row| row.starts_with("version|")),
        "no adapters are compared"
    );
    Ok(rows)
}

/// The rows of a run that nothing disturbed, and how many items it had.
async fn undisturbed() -> Result<(Vec<String>, i64)> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = worker(&house)?;
    let run = house.begin_document(RUN, &document()).await?;
    house.until_completed(run).await?;
    Ok((remains(&house, run).await?, ended(&house, run).await?))
}

#[tokio::test]
async fn the_same_seed_ends_with_the_same_adapters_whatever_is_killed() -> Result<()> {
    let (first, items) = undisturbed().await?;
    ensure!(
        first.iter().any(|row| row.starts_with("version|")),
        "no adapters are compared"
    );
    let (second, _) = undisturbed().await?;
    assert_eq!(first, second, "two undisturbed runs");

    let house = House::new().await?;
    let mut server = house.server(SERVER)?;
    let mut running = worker(&house)?;
    let run = house.begin_document(RUN, &document()).await?;
    let every = items / (KILLS.cast_signed() + 1);
    for kill in 0..KILLS {
        let moment = every * kill.cast_signed() + stream(5, "kill", kill).random_range(0..every.max(1));
        until("the next kill's moment", || async {
            Ok((ended(&house, run).await? >= moment).then_some(()))
        })
        .await?;
        if kill % 2 == 0 {
            running.kill()?;
            house.bury().await?;
            running = worker(&house)?;
        } else {
            server.kill()?;
            server = house.server(SERVER)?;
        }
    }
    house.until_completed(run).await?;
    assert_eq!(first, remains(&house, run).await?, "a run with ten kills");
    drop((server, running));
    Ok(())
}
