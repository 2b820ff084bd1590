//! Runs with a worker on a GPU, which the stand-in for CUDA (`script/gpu-standin`) takes the place of.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_system_tests::house::House;
use lyceum_system_tests::programs::Programs;
use serde_json::{Value, json};

const STEPS: u32 = 5;

/// The demo's first steps.
fn document() -> Result<Value> {
    let mut document: Value = toml::from_str(include_str!("../../../configs/runs/demo.toml"))?;
    let preset = document.as_object_mut().context("a table")?;
    // Their suite is not in this database.
    preset.remove("benchmarks");
    preset.insert("seed".to_owned(), json!(7));
    preset.insert("steps".to_owned(), json!(STEPS));
    Ok(document)
}

fn programs() -> Result<Programs> {
    Programs::beside(env!("CARGO_BIN_EXE_scripted-worker"))?
        .context("`cargo build --workspace --bins` has not been run")
}

/// Plays the run on the second of two GPUs that are shown of three, most of whose memory others hold; or on the CPU.
async fn played(house: &House, device: &str) -> Result<ExecutionId> {
    let programs = programs()?;
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../models");
    let _server = house.lyceum_server(&programs)?;
    let _worker = house.lyceum_worker_in(
        &programs,
        device,
        &["--device", device, "--models", models],
        &[("STANDIN_GPUS", "3"), ("CUDA_VISIBLE_DEVICES", "0,2"), ("STANDIN_TOTAL", "85899345920")],
    )?;
    let run = house.begin_document(1, &document()?).await?;
    house.until_completed(run).await?;
    Ok(run)
}

async fn rows(house: &House, run: ExecutionId, query: &'static str) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar(query).bind(run.0).fetch_all(house.pool()).await?)
}

/// What does not depend on rounding: everything before the first update, and after it what the config determines.
const SAME: [&str; 5] = [
    "SELECT concat_ws(' ', id, index, proposal, valid, solve_rate) FROM problems WHERE run_id = $1 AND step = 0 ORDER BY 1",
    "SELECT concat_ws(' ', attempts.id, text, correct, reward) FROM attempts
     WHERE attempts.run_id = $1 AND attempts.step = 0 ORDER BY 1",
    "SELECT concat_ws(' ', step, total = ended, finished_at IS NULL) FROM steps WHERE execution_id = $1 ORDER BY 1",
    "SELECT concat_ws(' ', step, count(*)) FROM adapter_versions WHERE run_id = $1 GROUP BY step ORDER BY 1",
    "SELECT concat_ws(' ', step, count(*)) FROM problems WHERE run_id = $1 AND proposer_id IS NOT NULL GROUP BY step
     ORDER BY 1",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs script/gpu-standin"]
async fn the_demo_on_a_gpu_differs_from_that_on_a_cpu_by_rounding_alone() -> Result<()> {
    let (on_cpu, on_gpu) = (House::new().await?, House::new().await?);
    let cpu = played(&on_cpu, "cpu").await?;
    let gpu = played(&on_gpu, "cuda:1").await?;
    for query in SAME {
        let found = rows(&on_gpu, gpu, query).await?;
        ensure!(!found.is_empty(), "no rows for {query}");
        assert_eq!(found, rows(&on_cpu, cpu, query).await?, "{query}");
    }
    let (device, memory): (String, i64) =
        sqlx::query_as("SELECT device, memory_bytes FROM workers").fetch_one(on_gpu.pool()).await?;
    assert_eq!(device, "stand-in GPU 2");
    assert!((1 << 30..=8 << 30).contains(&memory), "{memory} of 80 GiB, of which 8 are free");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs script/gpu-standin"]
async fn a_worker_whose_gpu_is_lost_ends_and_another_completes_the_run() -> Result<()> {
    let programs = programs()?;
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../models");
    let arguments = ["--device", "cuda", "--models", models];
    let house = House::new().await?;
    let _server = house.lyceum_server(&programs)?;
    let mut document = document()?;
    document["steps"] = json!(1);
    let run = house.begin_document(1, &document).await?;
    let lost = house.lyceum_worker_in(&programs, "lost", &arguments, &[("STANDIN_LOST_AT", "2000")])?;
    assert_eq!(lost.ended()?.code(), Some(1));
    let failed: Vec<(String, i32)> =
        sqlx::query_as("SELECT errors->-1->>'message', attempts FROM work WHERE execution_id = $1 AND errors <> '[]'")
            .bind(run.0)
            .fetch_all(house.pool())
            .await?;
    let [(message, 1)] = failed.as_slice() else {
        panic!("not one item was lost once: {failed:?}");
    };
    assert!(message.contains("illegal memory access"), "{message}");
    let _worker = house.lyceum_worker_in(&programs, "next", &arguments, &[])?;
    house.until_completed(run).await
}
