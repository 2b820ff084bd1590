//! Measures the cost of a `populora` step outside of engine and verifier: planning, rows and queue at 8T+8S with the
//! paper's 576 prompts and 8 samples, with scripted players that take no time.
//!
//! `cargo run --release -p lyceum-system-tests --bin bench-selfplay`

use anyhow::Result;
use lyceum_postgres::PrivatePostgres;
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::handlers;
use lyceum_system_tests::house::{House, registry, until};
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use serde_json::json;
use std::time::Duration;

/// Steps of the run; the first is not counted, since the members are born in it.
const STEPS: u32 = 6;
/// Limit per step in seconds.
const LIMIT: f64 = 10.0;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let postgres = PrivatePostgres::start(folder.path()).await?;
    let house = House::at(postgres.url()).await?;
    let coordinator = house.coordinate(registry())?;
    // Connections opened by handlers end with the runtime, but the house continues.
    let of_worker = house.store.apart();
    let artifacts = ArtifactStore::folder(&house.artifacts(), of_worker.pool().clone())?;
    let handlers = handlers::all(Duration::ZERO, of_worker.pool());
    let worker = Runtime::start(&of_worker, artifacts, handlers, RuntimeSettings::default()).await?;
    let document = json!({
        "recipe": "populora", "seed": 1, "steps": STEPS,
        "populations": {"main": {
            "base_model": {"name": "tiny"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher"], "count": 8}, {"roles": ["student"], "count": 8}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 6, "num_inputs": 6, "max_prompt_bytes": 20000, "seeds": "seedling"},
            "prompts_per_matchup": 72,
            "samples_per_problem": 8,
            "items": {"propose": 72, "solve": 24, "update": 8},
        },
    });
    let run = house.begin_document(1, &document).await?;
    for step in 0..STEPS {
        let over = || async {
            let over: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM steps WHERE execution_id = $1 AND step = $2 AND finished_at IS NOT NULL)",
            )
            .bind(run.0)
            .bind(step.cast_signed())
            .fetch_one(house.pool())
            .await?;
            Ok(over.then_some(()))
        };
        until(&format!("step {step} is over"), over).await?;
    }
    let steps: Vec<(i32, f64, f64, i32)> = sqlx::query_as(
        "SELECT step, extract(epoch FROM finished_at - started_at)::float8, plan_seconds, total FROM steps
         WHERE execution_id = $1 ORDER BY step",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let mut slowest: f64 = 0.0;
    for (step, seconds, planning, items) in steps {
        println!("step {step}: {items} items, {seconds:.2} s in total, recipe and view {planning:.2} s");
        slowest = if step > 0 { slowest.max(seconds) } else { slowest };
    }
    println!("slowest step after the first: {slowest:.2} s (limit: {LIMIT} s)");
    worker.drain().await;
    coordinator.stop().await;
    postgres.stop().await;
    Ok(())
}
