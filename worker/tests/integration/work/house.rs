//! A database with one run, and workers on it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
#[cfg(feature = "engine")]
use lyceum_core::id::WorkId;
use lyceum_core::recipe::{Plan, RunState, WorkItem};
use lyceum_core::work::{Outcome, Payload, Requirements, WorkKey};
use lyceum_postgres::{TestCluster, TestDatabase};
#[cfg(feature = "engine")]
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::plan::{carry_out, lock};
use lyceum_store::runs::NewRun;
#[cfg(feature = "engine")]
use lyceum_store::work::{self, WorkDetail};
use lyceum_store::worker_role::{self, WORKER_ROLE};
use lyceum_store::{Store, runs};
use tempfile::TempDir;
use uuid::Uuid;

/// The trace of the request that created the run.
pub(crate) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(crate) const RUN: ExecutionId = ExecutionId(Uuid::from_u128(1));

pub(crate) struct House {
    pub(crate) store: Store,
    database: TestDatabase,
    folder: TempDir,
}

/// A worker that is killed with its test.
pub(crate) struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        // Captured by libtest and shown only for failed tests.
        println!("{log}");
        let _ = std::fs::remove_file(self.log());
    }
}

impl House {
    /// A new database with a run that has no coordinator.
    pub(crate) async fn new() -> Result<Self> {
        let prepare = async |url: &str| {
            let store = Store::connect(url, 2).await?;
            store.migrate().await?;
            worker_role::create(store.pool(), WORKER_ROLE).await?;
            worker_role::admit(store.pool(), WORKER_ROLE).await?;
            store.pool().close().await;
            anyhow::Ok(())
        };
        let database = TestCluster::shared().await?.database_prepared(prepare).await?;
        let store = Store::connect(database.url(), 4).await?;
        let config = RunConfig { recipe: "by hand".to_owned(), steps: 1, ..RunConfig::default() };
        let state = RunState {
            run: RUN,
            config: Arc::new(config.clone()),
            step: 0,
            stage: String::new(),
            completed: false,
            generated_tokens: 0,
            artifacts: Vec::new(),
            memory_version: 1,
            memory: serde_json::Value::Null,
        };
        let new = NewRun {
            name: "by hand",
            experiment: None,
            preset: None,
            tags: &[],
            note: "",
            config: &config,
            state: &state,
            metrics: &[],
            trace_id: Some(TRACE),
            forked_from: None,
        };
        let mut tx = store.pool().begin().await?;
        runs::begin(&mut tx, &new).await?;
        tx.commit().await?;
        Ok(Self { store, database, folder: tempfile::tempdir()? })
    }

    #[cfg(feature = "engine")]
    pub(crate) fn artifacts(&self) -> Result<ArtifactStore> {
        Ok(ArtifactStore::folder(self.folder.path(), self.store.pool().clone())?)
    }

    #[cfg(feature = "engine")]
    pub(crate) fn artifacts_folder(&self) -> &Path {
        self.folder.path()
    }

    /// The item of a phase, as the server returns it.
    #[cfg(feature = "engine")]
    pub(crate) async fn item(&self, phase: &str) -> Result<WorkDetail> {
        let id: Uuid =
            sqlx::query_scalar("SELECT id FROM work WHERE phase = $1").bind(phase).fetch_one(self.store.pool()).await?;
        Ok(work::find(self.store.pool(), WorkId(id)).await?)
    }

    pub(crate) fn worker(&self, options: &[&str]) -> Result<Worker> {
        let url = self.database.url().replacen("//lyceum@", &format!("//{WORKER_ROLE}@"), 1);
        let child = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
            .args(["work", "--database", &url, "--artifacts"])
            .arg(Path::new(self.folder.path()))
            .args(options)
            .stdin(Stdio::null())
            .stderr(File::options().create(true).append(true).open(self.log())?)
            .spawn()?;
        Ok(Worker(child))
    }

    /// The workers' messages.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().with_extension("log")
    }

    /// Plans an item and waits until `worker` has finished it.
    pub(crate) async fn done(&self, worker: &mut Worker, phase: &str, payload: Payload) -> Result<Outcome> {
        let key = WorkKey::new(0, phase);
        let mut tx = self.store.pool().begin().await?;
        let Some(locked) = lock(&mut tx, RUN).await? else { bail!("the run is not due") };
        let item = WorkItem { key, payload, requirements: Requirements::default() };
        let plan = Plan { work: vec![item], ..Plan::default() };
        carry_out(&mut tx, &locked, &plan, 0.0).await?;
        tx.commit().await?;
        let give_up = Instant::now() + Duration::from_secs(600);
        loop {
            let (state, result, errors): (String, Option<serde_json::Value>, serde_json::Value) =
                sqlx::query_as("SELECT state, result, errors FROM work WHERE phase = $1")
                    .bind(phase)
                    .fetch_one(self.store.pool())
                    .await?;
            if let Some(result) = result {
                return Ok(serde_json::from_value(result)?);
            }
            ensure!(errors == serde_json::json!([]), "{phase} is {state}: {errors}");
            ensure!(worker.0.try_wait()?.is_none(), "the worker has ended");
            ensure!(Instant::now() < give_up, "{phase} is {state} after ten minutes");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Worker {
    /// `kill -9`.
    #[cfg(feature = "engine")]
    pub(crate) fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Stops it, and waits until it has signed off.
    pub(crate) async fn stop(mut self, house: &House) -> Result<()> {
        ensure!(Command::new("kill").arg(self.0.id().to_string()).status()?.success(), "cannot signal the worker");
        assert!(self.0.wait()?.success());
        let state: String = sqlx::query_scalar("SELECT state FROM workers").fetch_one(house.store.pool()).await?;
        assert_eq!(state, "stopped");
        Ok(())
    }
}
