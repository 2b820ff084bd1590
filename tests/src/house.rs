//! A house for a test: a database, a folder of artifacts, and processes that can be killed.

use anyhow::{Result, bail, ensure};
use lyceum_core::config;
use lyceum_core::dataset::Purpose;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::Registry;
use lyceum_core::seed::derive;
use lyceum_postgres::{TestCluster, TestDatabase};
use lyceum_store::Store;
use lyceum_store::datasets::{self, NewDataset};
use lyceum_store::runs::{self, NewRun};
use lyceum_store::worker_role::{self, WORKER_ROLE};
use serde_json::{Value, json};
use sqlx::PgPool;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use uuid::Uuid;

use crate::process::Process;
use crate::relay::Relay;
use crate::script::Script;
use crate::seminar::Seminar;

/// The scripted recipes.
pub fn registry() -> Registry {
    Registry::shipped().with(Script).with(Relay).with(Seminar)
}

/// A database with the product's tables and the handlers' diary, and an artifact folder.
pub struct House {
    /// The database's rows.
    pub store: Store,
    url: String,
    /// The address for workers, whose role may do what workers do.
    worker_url: String,
    folder: TempDir,
    _database: Option<TestDatabase>,
}

/// Settings of a scripted worker, with short intervals.
#[derive(Clone, Debug)]
pub struct WorkerArguments {
    /// Duration of each item.
    pub pause: Duration,
    /// Lease of a claim.
    pub lease: Duration,
    /// Concurrent items per lane.
    pub slots: usize,
    /// Interval between heartbeats.
    pub heartbeat: Duration,
    /// Models it can load; empty means any.
    pub models: Vec<&'static str>,
    /// Its name; generated if `None`.
    pub name: Option<&'static str>,
    /// Folder of base models for the product's handlers; `None` means scripted handlers.
    pub models_folder: Option<PathBuf>,
}

impl Default for WorkerArguments {
    fn default() -> Self {
        Self {
            pause: Duration::from_millis(20),
            // Longer than any stall of the machine; tests end leases explicitly (`House::bury`).
            lease: Duration::from_secs(120),
            slots: 2,
            heartbeat: Duration::from_secs(1),
            models: Vec::new(),
            name: None,
            models_folder: None,
        }
    }
}

/// Makes the tables and the workers' role.
async fn furnish(store: &Store) -> Result<()> {
    store.migrate().await?;
    worker_role::create(store.pool(), WORKER_ROLE).await?;
    worker_role::admit(store.pool(), WORKER_ROLE).await?;
    sqlx::raw_sql(
        "CREATE TABLE diary (at timestamptz DEFAULT clock_timestamp(), item text, attempt int, what text);
         CREATE TABLE pace (entries bigint);
         INSERT INTO pace VALUES (NULL);
         GRANT SELECT, INSERT, UPDATE ON diary, pace TO lyceum_worker",
    )
    .execute(store.pool())
    .await?;
    Ok(())
}

impl House {
    /// An empty house.
    pub async fn new() -> Result<Self> {
        let prepare = async |url: &str| {
            let store = Store::connect(url, 2).await?;
            furnish(&store).await?;
            store.pool().close().await;
            anyhow::Ok(())
        };
        let database = TestCluster::shared().await?.database_prepared(prepare).await?;
        let store = Store::connect(database.url(), 8).await?;
        Self::on(store, database.url().to_owned(), Some(database))
    }

    /// A house on a database managed by the test.
    pub async fn at(url: &str) -> Result<Self> {
        let store = Store::connect(url, 8).await?;
        furnish(&store).await?;
        Self::on(store, url.to_owned(), None)
    }

    fn on(store: Store, url: String, database: Option<TestDatabase>) -> Result<Self> {
        Ok(Self {
            store,
            worker_url: url.replacen("//lyceum@", &format!("//{WORKER_ROLE}@"), 1),
            url,
            folder: tempfile::tempdir()?,
            _database: database,
        })
    }

    /// The rows.
    pub fn pool(&self) -> &PgPool {
        self.store.pool()
    }

    /// The address of the database for servers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of the database for workers.
    pub fn worker_url(&self) -> &str {
        &self.worker_url
    }

    /// Number of rows in a table, or in what follows `FROM`.
    pub async fn count(&self, table: &str) -> Result<i64> {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        Ok(sqlx::query_scalar(count).fetch_one(self.pool()).await?)
    }

    /// The artifact folder.
    pub fn artifacts(&self) -> PathBuf {
        self.folder.path().join("artifacts")
    }

    /// Starts a run with id `id` of `recipe` with `parameters`.
    pub async fn begin(&self, id: u128, recipe: &str, steps: u32, parameters: Value) -> Result<ExecutionId> {
        self.begin_with(id, recipe, steps, parameters, json!({})).await
    }

    /// The same, with the given scheduling.
    pub async fn begin_with(
        &self,
        id: u128,
        recipe: &str,
        steps: u32,
        parameters: Value,
        scheduling: Value,
    ) -> Result<ExecutionId> {
        let document = json!({
            "recipe": recipe,
            "seed": 7,
            "steps": steps,
            "populations": { "main": {
                "base_model": { "name": "tiny" },
                "lora": { "r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"] },
                "members": [{ "roles": ["proposer", "solver"], "count": 2 }],
            }},
            "parameters": parameters,
            "scheduling": scheduling,
        });
        self.begin_document(id, &document).await
    }

    /// Imports training rows.
    pub async fn training_set(&self, rows: &[Value]) -> Result<DatasetId> {
        self.import("training", Purpose::Training, None, rows).await
    }

    /// Imports goalposts.
    pub async fn goalposts(&self, rows: &[Value]) -> Result<DatasetId> {
        self.import("goalposts", Purpose::Goalposts, None, rows).await
    }

    /// Imports rows of a suite of benchmarks.
    pub async fn suite(&self, suite: &str, rows: &[Value]) -> Result<DatasetId> {
        self.suite_as(suite, suite, rows).await
    }

    /// Imports rows as the benchmark `suite` under a name of their own.
    pub async fn suite_as(&self, name: &str, suite: &str, rows: &[Value]) -> Result<DatasetId> {
        self.import(name, Purpose::Benchmark, Some(suite), rows).await
    }

    async fn import(&self, name: &str, purpose: Purpose, suite: Option<&str>, rows: &[Value]) -> Result<DatasetId> {
        let mut tx = self.pool().begin().await?;
        let new = NewDataset { name, purpose, suite, source: "test", revision: None, rows };
        // The same in every house, since runs remember it and are compared.
        let id = DatasetId(Uuid::from_u128(derive(0, name, 0).into()));
        datasets::create_as(&mut tx, id, &new).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Starts a run with id `id` from a complete config.
    pub async fn begin_document(&self, id: u128, document: &Value) -> Result<ExecutionId> {
        let registry = registry();
        let config = config::resolve(document, &registry)?;
        let recipe = registry.get(&config.recipe)?;
        let state = recipe.begin(ExecutionId(Uuid::from_u128(id)), &config)?;
        let mut tx = self.pool().begin().await?;
        let new = NewRun {
            name: "scripted",
            experiment: None,
            preset: None,
            tags: &[],
            note: "",
            config: &config,
            state: &state,
            metrics: &recipe.recorded_metrics(&config)?,
            trace_id: None,
            forked_from: None,
        };
        runs::begin(&mut tx, &new).await?;
        tx.commit().await?;
        Ok(state.run)
    }

    /// Starts a coordinator process.
    pub fn server(&self, program: &str) -> Result<Process> {
        Process::start(Command::new(program).args(["--database", &self.url]).arg("--artifacts").arg(self.artifacts()))
    }

    /// Starts a worker process.
    pub fn worker(&self, program: &str, arguments: &WorkerArguments) -> Result<Process> {
        self.worker_under(Command::new(program), arguments)
    }

    /// Starts a worker whose artifact folder is on a separate, full disk.
    pub fn worker_on_full_disk(&self, program: &str, arguments: &WorkerArguments) -> Result<Process> {
        std::fs::create_dir_all(self.artifacts())?;
        let mut command = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        let fill = "mount -t tmpfs -o size=64k none \"$0\" && { head -c 1M /dev/zero > \"$0/fill\" 2>/dev/null; exec \"$@\"; }";
        command.args(["--mount", "sh", "-c", fill]).arg(self.artifacts()).arg(program);
        self.worker_under(command, arguments)
    }

    fn worker_under(&self, mut command: Command, arguments: &WorkerArguments) -> Result<Process> {
        command.args(["--database", &self.worker_url]).arg("--artifacts").arg(self.artifacts());
        command.args(["--pause-millis", &arguments.pause.as_millis().to_string()]);
        command.args(["--lease-millis", &arguments.lease.as_millis().to_string()]);
        command.args(["--slots", &arguments.slots.to_string()]);
        command.args(["--heartbeat-millis", &arguments.heartbeat.as_millis().to_string()]);
        if let Some(name) = arguments.name {
            command.args(["--name", name]);
        }
        for model in &arguments.models {
            command.args(["--model", model]);
        }
        if let Some(folder) = &arguments.models_folder {
            command.arg("--models-folder").arg(folder);
        }
        Process::start(&mut command)
    }

    /// Waits until the run is completed.
    ///
    /// # Errors
    /// The run fails or does not finish; includes its details.
    pub async fn until_completed(&self, run: ExecutionId) -> Result<()> {
        self.until_state(run, "completed").await
    }

    /// Waits until the run has failed.
    ///
    /// # Errors
    /// As [`House::until_completed`].
    pub async fn until_failed(&self, run: ExecutionId) -> Result<()> {
        self.until_state(run, "failed").await
    }

    async fn until_state(&self, run: ExecutionId, wanted: &str) -> Result<()> {
        let state = || async {
            let state: String = sqlx::query_scalar("SELECT state FROM executions WHERE id = $1")
                .bind(run.0)
                .fetch_one(self.pool())
                .await?;
            Ok(["completed", "failed", wanted].contains(&state.as_str()).then_some(state))
        };
        match until(&format!("run {run} is {wanted}"), state).await {
            Ok(state) if state == wanted => Ok(()),
            Ok(state) => bail!("run {run} is {state}, not {wanted}\n{}", self.account(run).await),
            Err(error) => bail!("{error:#}\n{}", self.account(run).await),
        }
    }

    /// Details of a run and its workers, for the message of a failed test.
    async fn account(&self, run: ExecutionId) -> String {
        const ACCOUNT: &str = "
            SELECT concat_ws(' ', 'run:', state, 'at step', step, 'because', error) FROM executions WHERE id = $1
            UNION ALL
            SELECT concat_ws(' ', 'items:', kind, state, count(*)) FROM work WHERE execution_id = $1 GROUP BY kind, state
            UNION ALL
            (SELECT concat_ws(' ', 'item', concat_ws('/', step, phase, round, chunk), state, 'try', attempts, 'of', max_attempts,
                 'lease', lease_until - now(), 'due', run_at - now(), errors -> -1)
             FROM work WHERE execution_id = $1 AND (state NOT IN ('done', 'ready') OR errors <> '[]')
             ORDER BY seq DESC LIMIT 20)
            UNION ALL
            SELECT concat_ws(' ', 'worker', name, state, 'seen', now() - last_seen, 'ago') FROM workers
            UNION ALL
            SELECT concat_ws(' ', 'tickets:', job_type, status, count(*)) FROM apalis.jobs GROUP BY job_type, status";
        let told: Result<Vec<String>, sqlx::Error> =
            sqlx::query_scalar(ACCOUNT).bind(run.0).fetch_all(self.pool()).await;
        told.map_or_else(|error| format!("nothing is known of it: {error}"), |lines| lines.join("\n"))
    }

    /// Waits until the diary has at least `count` entries.
    pub async fn until_entries(&self, count: i64) -> Result<()> {
        let entries = || async { Ok((self.entries().await? >= count).then_some(())) };
        until(&format!("the diary has {count} entries"), entries).await
    }

    /// Waits until a measurement of `run` has begun.
    pub async fn until_measured(&self, run: ExecutionId) -> Result<()> {
        let begun = || async {
            let found: Option<i32> = sqlx::query_scalar("SELECT 1 FROM evaluations WHERE run_id = $1 LIMIT 1")
                .bind(run.0)
                .fetch_optional(self.pool())
                .await?;
            Ok(found.map(drop))
        };
        until("the run is being measured", begun).await
    }

    /// Entries of the diary.
    pub async fn entries(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM diary").fetch_one(self.pool()).await?)
    }

    /// Makes workers wait when the diary has about `entries` entries, or releases them, so that a test can act in the
    /// middle of their work.
    pub async fn hold_at(&self, entries: Option<i64>) -> Result<()> {
        sqlx::query("UPDATE pace SET entries = $1").bind(entries).execute(self.pool()).await?;
        Ok(())
    }

    /// Expires the leases of a killed worker, which must be the only one, so nobody has to wait for them.
    pub async fn bury(&self) -> Result<()> {
        sqlx::query("UPDATE work SET lease_until = now() - interval '1 second' WHERE state = 'running'")
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Number of diary entries `what`, by item.
    pub async fn diary(&self, what: &str) -> Result<Vec<(String, i64)>> {
        Ok(sqlx::query_as("SELECT item, count(*) FROM diary WHERE what = $1 GROUP BY item ORDER BY item")
            .bind(what)
            .fetch_all(self.pool())
            .await?)
    }

    /// All rows of a run, without times, order of arrival and number of tries.
    pub async fn remains(&self, run: ExecutionId) -> Result<Vec<String>> {
        let recipe: String = sqlx::query_scalar("SELECT recipe FROM executions WHERE id = $1")
            .bind(run.0)
            .fetch_one(self.pool())
            .await?;
        let has = registry().get(&recipe)?.capabilities();
        let mut rows = Vec::new();
        for query in [
            "SELECT concat_ws('|', 'execution', state, step, error, reproducible) FROM executions WHERE id = $1",
            "SELECT concat_ws('|', 'run', problems, valid_problems, attempts, matchups, cells) FROM runs WHERE id = $1",
            "SELECT concat_ws('|', 'state', step, md5(state::text)) FROM run_states WHERE execution_id = $1",
            "SELECT concat_ws('|', 'step', step, total, ended, finished_at IS NULL) FROM steps WHERE execution_id = $1",
            "SELECT concat_ws('|', 'work', id, state, md5(payload::text)) FROM work WHERE execution_id = $1",
            "SELECT concat_ws('|', 'result', id, md5(result::text)) FROM work WHERE execution_id = $1",
            "SELECT concat_ws('|', 'member', id, name, born_step, died_step) FROM members WHERE run_id = $1",
            "SELECT concat_ws('|', 'version', id, ordinal, step, artifact, optimizer) FROM adapter_versions WHERE run_id = $1",
            "SELECT concat_ws('|', 'birth', child_id, operator, seed) FROM births WHERE run_id = $1",
            "SELECT concat_ws('|', 'problem', id, step, index, proposer_id, valid, proposal, solve_rate, attempts, cell)
             FROM problems WHERE run_id = $1",
            "SELECT concat_ws('|', 'parent', problem_id, parent_id, relation) FROM problem_parents
             WHERE problem_id IN (SELECT id FROM problems WHERE run_id = $1)",
            "SELECT concat_ws('|', 'attempt', id, problem_id, version_id, text, correct, reward) FROM attempts WHERE run_id = $1",
            "SELECT concat_ws('|', 'matchup', id, step, winner) FROM matchups WHERE run_id = $1",
            "SELECT concat_ws('|', 'rating', step, member_id, role, mu, sigma) FROM ratings WHERE run_id = $1",
            "SELECT concat_ws('|', 'cell', step, cell, problem_id, status) FROM archive_insertions WHERE run_id = $1",
            "SELECT concat_ws('|', 'row', row, step, answers, correct) FROM row_answers WHERE run_id = $1",
            "SELECT concat_ws('|', 'held-out', step, member_id, version_id, first_row, n, correct) FROM held_out_results
             WHERE run_id = $1",
            "SELECT concat_ws('|', 'metric', step, member_id, \"values\") FROM metrics WHERE run_id = $1",
            "SELECT concat_ws('|', 'level', level, bucket, member_id, mean, min, max) FROM metric_levels WHERE run_id = $1",
            "SELECT concat_ws('|', 'hold', digest, reason, holder) FROM artifact_holds WHERE execution_id = $1",
        ] {
            let mut found: Vec<String> = sqlx::query_scalar(query).bind(run.0).fetch_all(self.pool()).await?;
            let may_be_empty = query.contains("metric_levels")
                || query.contains("held_out_results")
                || (!has.repeats && query.contains("row_answers"))
                || (!has.rates && (query.contains("matchups") || query.contains("ratings")))
                || (!has.archives && (query.contains("archive_insertions") || query.contains("problem_parents")));
            ensure!(!found.is_empty() || may_be_empty, "no rows for {query}");
            found.sort();
            rows.extend(found);
        }
        Ok(rows)
    }
}

/// Timeout for expected events. Long, since machines may be slow and busy; only failing tests wait that long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Polls until there is an answer, for at most ten minutes.
pub async fn until<T, F: Future<Output = Result<Option<T>>>>(what: &str, mut ask: impl FnMut() -> F) -> Result<T> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) if Instant::now() > give_up => bail!("timed out after ten minutes waiting until {what}"),
            Err(error) if Instant::now() > give_up => return Err(error.context(format!("waiting until {what}"))),
            // The test must continue while the database is down.
            Ok(None) | Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
