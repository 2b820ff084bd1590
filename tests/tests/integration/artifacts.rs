//! Artifacts that cannot be written or are damaged, and artifacts in buckets.

mod bucket;
mod s3;
mod streams;

use anyhow::{Context as _, Result};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::ExecutionId;
use lyceum_store::StoreError;
use lyceum_store::artifact::{self, ArtifactStore, Reason};
use lyceum_system_tests::house::{House, WorkerArguments, until};
use serde_json::{Value, json};
use sqlx::PgConnection;
use std::path::PathBuf;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

async fn first_error(house: &House, run: ExecutionId, phase: &str) -> Result<String> {
    let error = || async {
        let errors: Option<Value> = sqlx::query_scalar(
            "SELECT errors FROM work WHERE execution_id = $1 AND phase = $2 AND errors <> '[]' LIMIT 1",
        )
        .bind(run.0)
        .bind(phase)
        .fetch_optional(house.pool())
        .await?;
        Ok(errors.and_then(|errors| errors[0]["message"].as_str().map(str::to_owned)))
    };
    until("an item of the phase has failed once", error).await
}

#[tokio::test]
async fn a_full_disk_is_named_and_the_item_tried_again() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let cramped = house.worker_on_full_disk(WORKER, &WorkerArguments::default())?;
    let run = house.begin_with(1, "relay", 1, json!({}), json!({ "max_attempts": 100 })).await?;
    let error = first_error(&house, run, "birth").await?;
    assert!(error.contains("No space left on device"), "{error}");
    cramped.stop()?;
    let _roomy = house.worker(WORKER, &WorkerArguments::default())?;
    house.until_completed(run).await?;
    Ok(())
}

#[tokio::test]
async fn a_truncated_artifact_is_found_out_and_the_run_goes_on_once_it_is_whole() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    // The two births and some later items, but not the update that reads the weights.
    house.hold_at(Some(6)).await?;
    let worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin_with(1, "relay", 1, json!({}), json!({ "max_attempts": 100 })).await?;
    let weights = until("the weights are there", || async {
        let digest: Option<String> =
            sqlx::query_scalar("SELECT artifact FROM adapter_versions LIMIT 1").fetch_optional(house.pool()).await?;
        Ok(digest)
    })
    .await?;
    let file: PathBuf = house.artifacts().join(&weights[..2]).join(&weights);
    let whole = std::fs::read(&file).with_context(|| format!("no artifact at {}", file.display()))?;
    std::fs::write(&file, &whole[..whole.len() / 2])?;
    house.hold_at(None).await?;
    let error = first_error(&house, run, "update").await?;
    assert!(error.contains(&weights) && error.contains("damaged"), "{error}");
    std::fs::write(&file, &whole)?;
    house.until_completed(run).await?;
    drop(worker);
    Ok(())
}

#[tokio::test]
async fn what_nothing_holds_is_collected_and_what_is_held_stays() -> Result<()> {
    let house = House::new().await?;
    let server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "relay", 4, json!({})).await?;
    house.until_completed(run).await?;
    // The server also collects garbage from time to time.
    server.stop()?;
    let artifacts = ArtifactStore::folder(&house.artifacts(), house.pool().clone())?;
    assert_eq!(artifact::collect(&artifacts, 1000).await?, 0, "what is young stays, held or not");
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '2 hours'").execute(house.pool()).await?;
    assert!(artifact::collect(&artifacts, 1000).await? > 0);
    let kept: Vec<(String, i64)> =
        sqlx::query_as("SELECT kind, count(*) FROM artifacts WHERE removed_at IS NULL GROUP BY kind ORDER BY kind")
            .fetch_all(house.pool())
            .await?;
    // Two members: five versions' weights each, the optimizer state of the last two, and no token batches.
    assert_eq!(kept, [("adapter".to_owned(), 10), ("optimizer".to_owned(), 4)]);
    let tokens: String = sqlx::query_scalar("SELECT digest FROM artifacts WHERE kind = 'tokens' LIMIT 1")
        .fetch_one(house.pool())
        .await?;
    assert!(matches!(artifacts.get(tokens.parse()?).await, Err(StoreError::NotFound { .. })));
    let again = artifacts.put(ArtifactKind::Tokens, b"tokens of 0/propose/0/0".to_vec()).await?;
    assert_eq!(artifacts.get(again).await?, b"tokens of 0/propose/0/0", "what was collected can be written again");
    Ok(())
}

#[tokio::test]
async fn what_was_collected_cannot_be_held_until_it_is_written_again() -> Result<()> {
    let house = House::new().await?;
    let artifacts = ArtifactStore::folder(&house.artifacts(), house.pool().clone())?;
    let run = house.begin(1, "relay", 1, json!({})).await?;
    let digest = artifacts.put(ArtifactKind::Tokens, b"tokens".to_vec()).await?;
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '2 hours'").execute(house.pool()).await?;
    let hold = async |tx: &mut PgConnection| artifact::hold(tx, digest, run, Reason::Step, run.0, Some(0)).await;

    // The end of an item that nobody sees yet: neither waits for the other.
    let mut ending = house.pool().begin().await?;
    hold(&mut ending).await?;
    assert_eq!(artifact::collect(&artifacts, 10).await?, 0, "it is about to be held");
    ending.rollback().await?;

    assert_eq!(artifact::collect(&artifacts, 10).await?, 1);
    let mut late = house.pool().begin().await?;
    let refused = hold(&mut late).await;
    assert!(matches!(refused, Err(StoreError::Removed { .. })), "{refused:?}");
    assert!(!artifact::hold_if_there(&mut late, digest, run, Reason::Fork, run.0, None).await?);
    late.rollback().await?;

    artifacts.put(ArtifactKind::Tokens, b"tokens".to_vec()).await?;
    let mut again = house.pool().begin().await?;
    hold(&mut again).await?;
    again.commit().await?;
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '2 hours'").execute(house.pool()).await?;
    assert_eq!(artifact::collect(&artifacts, 10).await?, 0);
    assert_eq!(artifacts.get(digest).await?, b"tokens");
    Ok(())
}
