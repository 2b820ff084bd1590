//! An undisturbed run.

use anyhow::Result;
use lyceum_system_tests::house::{House, WorkerArguments};
use serde_json::json;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

#[tokio::test]
async fn a_run_passes_through_all_its_steps() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "relay", 4, json!({})).await?;
    house.until_completed(run).await?;
    let (problems, attempts): (i64, i64) =
        sqlx::query_as("SELECT problems, attempts FROM runs WHERE id = $1").bind(run.0).fetch_one(house.pool()).await?;
    assert_eq!((problems, attempts), (4 * 3 * 4, 4 * 3 * 4));
    let ordinals: Vec<i32> = sqlx::query_scalar("SELECT max(ordinal) FROM adapter_versions GROUP BY member_id")
        .fetch_all(house.pool())
        .await?;
    assert_eq!(ordinals, [4, 4]);
    let mut again = house.diary("begin").await?;
    again.retain(|(_, times)| *times != 1);
    assert!(again.is_empty(), "done more than once: {again:?}");
    assert!(house.remains(run).await?.iter().any(|row| row.starts_with("level|1|0|")), "no bucket of four steps");
    Ok(())
}
