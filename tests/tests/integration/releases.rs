//! Servers and workers of two releases on one database: neither fails what only the other understands.

use anyhow::Result;
use lyceum_core::recipe::Registry;
use lyceum_store::plan;
use lyceum_system_tests::house::{House, WorkerArguments, registry, until};
use serde_json::json;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

#[tokio::test]
async fn a_server_leaves_a_run_that_it_cannot_plan_to_one_that_can() -> Result<()> {
    let house = House::new().await?;
    let old = house.coordinate(Registry::shipped())?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok"] })).await?;
    let refusal = || plan::refusal(house.pool(), run);
    let said = until("the old server has said so", || async { Ok(refusal().await?) }).await?;
    assert!(said.reason.contains("there is no recipe `script`"), "{said:?}");
    assert_eq!(house.count("executions WHERE state = 'running'").await?, 1);

    let new = house.coordinate(registry())?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    assert_eq!(refusal().await?, None);
    new.stop().await;
    old.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_run_whose_config_has_a_field_of_a_later_release_is_not_failed() -> Result<()> {
    let house = House::new().await?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok"] })).await?;
    sqlx::query("UPDATE executions SET config = jsonb_set(config, '{novel}', 'true')").execute(house.pool()).await?;
    let _server = house.server(SERVER)?;
    let said = until("the server has said so", || async { Ok(plan::refusal(house.pool(), run).await?) }).await?;
    assert!(said.reason.contains("novel"), "{said:?}");
    assert_eq!(house.count("executions WHERE state = 'running'").await?, 1);
    let honest = house.begin(2, "script", 1, json!({ "items": ["ok"] })).await?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(honest).await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_cannot_read_an_item_hands_it_back_and_ends_with_an_error() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let run = house.begin(1, "script", 1, json!({ "items": ["ok", "ok"] })).await?;
    until("the items are planned", || async { Ok((house.count("work").await? == 2).then_some(())) }).await?;
    sqlx::query("CREATE TABLE kept AS SELECT id, payload FROM work").execute(house.pool()).await?;
    sqlx::query(r#"UPDATE work SET payload = '{"rollout": {"novel": true}}'"#).execute(house.pool()).await?;
    let ended = house.worker(WORKER, &WorkerArguments::default())?.ended()?;
    assert_eq!(ended.code(), Some(1), "{ended}");
    let untried = "work WHERE state = 'ready' AND attempts = 0 AND errors = '[]'";
    assert_eq!(house.count(untried).await?, 2, "no try was spent");
    sqlx::query("UPDATE work w SET payload = k.payload FROM kept k WHERE k.id = w.id").execute(house.pool()).await?;
    let _newer = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    Ok(())
}
