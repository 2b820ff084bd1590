//! A run on the real engine and sandbox ends with the same bytes for the same seed, whatever is killed meanwhile.

use anyhow::{Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_core::seed::stream;
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::process::Process;
use rand::Rng as _;
use serde_json::{Value, json};
use std::path::Path;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
const RUN: u128 = 1;
/// Number of workers and servers killed, in turn.
const KILLS: u64 = 10;

/// Two teachers and two students on the bundled model, with one evolution.
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
    let arguments = WorkerArguments { models_folder: Some(models), ..WorkerArguments::default() };
    house.worker(WORKER, &arguments)
}

async fn ended(house: &House, run: ExecutionId) -> Result<i64> {
    Ok(sqlx::query_scalar("SELECT coalesce(sum(ended), 0) FROM steps WHERE execution_id = $1")
        .bind(run.0)
        .fetch_one(house.pool())
        .await?)
}

/// All rows of a run, with the digests of its adapters and optimizers, except those that contain durations.
async fn remains(house: &House, run: ExecutionId) -> Result<Vec<String>> {
    let timed = |row: &String| ["result|", "metric|", "level|"].iter().any(|start| row.starts_with(start));
    let mut rows = house.remains(run).await?;
    rows.retain(|row| !timed(row));
    ensure!(rows.iter().any(|row| row.starts_with("version|")), "no adapters are compared");
    Ok(rows)
}

/// A run in its own house.
struct Play {
    document: Value,
    /// Training rows, if the recipe takes any.
    rows: Vec<Value>,
}

impl Play {
    async fn begin(&self, house: &House) -> Result<ExecutionId> {
        let mut document = self.document.clone();
        if !self.rows.is_empty() {
            let id = house.training_set(&self.rows).await?;
            document["parameters"]["dataset"] = json!({"id": id, "rows": self.rows.len()});
        }
        house.begin_document(RUN, &document).await
    }

    /// The rows of an undisturbed run, and its number of items.
    async fn undisturbed(&self) -> Result<(Vec<String>, i64)> {
        let house = House::new().await?;
        let _server = house.server(SERVER)?;
        let _worker = worker(&house)?;
        let run = self.begin(&house).await?;
        house.until_completed(run).await?;
        Ok((remains(&house, run).await?, ended(&house, run).await?))
    }

    /// The rows of a run whose workers and servers are killed in turn.
    async fn killed(&self, items: i64) -> Result<Vec<String>> {
        let house = House::new().await?;
        let mut server = house.server(SERVER)?;
        let mut running = worker(&house)?;
        let run = self.begin(&house).await?;
        let every = items / (KILLS.cast_signed() + 1);
        for kill in 0..KILLS {
            let moment = every * kill.cast_signed() + stream(5, "kill", kill).random_range(0..every.max(1));
            until("the next kill's moment", || async { Ok((ended(&house, run).await? >= moment).then_some(())) })
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
        let rows = remains(&house, run).await?;
        drop((server, running));
        Ok(rows)
    }
}

#[tokio::test]
async fn the_same_seed_ends_with_the_same_adapters_whatever_is_killed() -> Result<()> {
    let play = Play { document: document(), rows: Vec::new() };
    let (first, items) = play.undisturbed().await?;
    let (second, _) = play.undisturbed().await?;
    assert_eq!(first, second, "two undisturbed runs");
    assert_eq!(first, play.killed(items).await?, "a run with ten kills");
    Ok(())
}

/// Additions that the seedling sometimes solves.
fn sums(count: usize) -> Vec<Value> {
    let row = |number: usize| {
        json!({
            "task_id": format!("sum/{number}"),
            "question": format!("what is 1 + {number}?"),
            "canonical": (1 + number).to_string(),
            "oracle": {"type": "code_o", "program": format!("def f(a):\n return a+{number}"), "input": "1"},
        })
    };
    (0..count).map(row).collect()
}

/// Twenty steps of one solver on additions that the seedling sometimes solves.
fn rlvr() -> Play {
    let document = json!({
        "recipe": "rlvr",
        "seed": 3,
        "steps": 20,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj", "down_proj"]},
            "members": [{"roles": ["solver"], "count": 2}],
        }},
        "parameters": {
            "prompts": "seedling",
            "batch": 4,
            "n": 4,
            "sampling": {"max_tokens": 24},
            "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": 5e-4}},
            "items": {"solve": 3},
        },
        "scheduling": {"max_attempts": 100},
    });
    Play { document, rows: sums(10) }
}

#[tokio::test]
async fn twenty_steps_on_a_dataset_end_the_same_whatever_is_killed() -> Result<()> {
    let play = rlvr();
    let (first, items) = play.undisturbed().await?;
    let problems = first.iter().filter(|row| row.starts_with("problem|"));
    assert_eq!(problems.count(), 10, "a row is one problem, however often it is drawn");
    assert_eq!(first, play.killed(items).await?, "a run with ten kills");
    Ok(())
}

#[tokio::test]
async fn held_out_rows_change_nothing_of_what_is_learned() -> Result<()> {
    let mut without = rlvr();
    without.document["steps"] = json!(4);
    let mut with = Play { document: without.document.clone(), rows: sums(14) };
    with.document["parameters"]["held_out"] = json!({"rows": 4, "every": 2, "n": 2});
    let (with, without) = (with.undisturbed().await?.0, without.undisturbed().await?.0);
    let of = |rows: &[String], names: &[&str]| -> Vec<String> {
        let named = |row: &&String| names.iter().any(|name| row.starts_with(name));
        rows.iter().filter(named).cloned().collect()
    };
    let learned = ["version|", "attempt|", "problem|", "row|"];
    assert_eq!(of(&with, &learned), of(&without, &learned));
    assert_eq!(of(&with, &["held-out|"]).len(), 3 * 2, "two members in steps 0, 2 and 3");
    assert!(of(&without, &["held-out|"]).is_empty());
    Ok(())
}
