//! Three workers and two servers play one run together, and each of them is killed in the middle.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_stand_in::StandIn;
use lyceum_system_tests::house::{House, until};
use lyceum_system_tests::process::Process;
use lyceum_system_tests::programs::Programs;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::served::run::{Play, changes, check_versions, models};

const STEPS: u32 = 3;

/// The preset `populora-seedling` with fewer and smaller steps, on a server.
fn document() -> Result<Value> {
    let mut document: Value = toml::from_str(include_str!("../../../../configs/runs/populora-seedling.toml"))?;
    let preset = document.as_object_mut().context("a table")?;
    // Their suite is not in this database.
    preset.remove("benchmarks").context("a preset with benchmarks")?;
    preset.insert("seed".to_owned(), json!(7));
    preset.insert("steps".to_owned(), json!(STEPS));
    preset.insert("scheduling".to_owned(), json!({ "max_attempts": 5 }));
    document["compute"] = json!({ "threads": 1, "sampler": "served" });
    let parameters = &mut document["parameters"];
    parameters["prompts_per_matchup"] = json!(3);
    parameters["proposals_per_prompt"] = json!(2);
    parameters["samples_per_problem"] = json!(2);
    parameters["cross_play_every"] = json!(2);
    parameters["cross_play_samples"] = json!(1);
    parameters["evolution"] = json!({ "every": 2 });
    // Else the versions of a few steps are hard to tell apart.
    parameters["learning"]["optimizer"]["learning_rate"] = json!(5e-3);
    parameters["items"] = json!({ "propose": 2, "solve": 6, "update": 2 });
    Ok(document)
}

/// A worker process, which can be started again.
struct Worker<'a> {
    house: &'a House,
    programs: &'a Programs,
    name: &'static str,
    arguments: Vec<&'a str>,
    process: Process,
}

impl<'a> Worker<'a> {
    fn start(house: &'a House, programs: &'a Programs, name: &'static str, arguments: Vec<&'a str>) -> Result<Self> {
        Ok(Self { process: house.lyceum_worker(programs, name, &arguments)?, house, programs, name, arguments })
    }

    /// Kills it over an item, and starts it again. The item's lease need not be waited for.
    async fn kill(mut self) -> Result<Self> {
        let expire =
            "UPDATE work SET lease_until = now() - interval '1 second' WHERE state = 'running' AND worker_id = $1";
        loop {
            let id = self.freeze_over_an_item().await?;
            self.process.kill()?;
            let expired = sqlx::query(expire).bind(id).execute(self.house.pool()).await?;
            self = Self::start(self.house, self.programs, self.name, self.arguments)?;
            // None if it had sent the item's end, which was committed while it was frozen.
            if expired.rows_affected() > 0 {
                return Ok(self);
            }
        }
    }

    /// Stops it while it has an item, and returns its id.
    async fn freeze_over_an_item(&self) -> Result<Uuid> {
        let held = "SELECT k.id FROM workers k JOIN work w ON w.worker_id = k.id
             WHERE k.name = $1 AND w.state = 'running' LIMIT 1";
        let held = || async {
            let held: Option<Uuid> = sqlx::query_scalar(held).bind(self.name).fetch_optional(self.house.pool()).await?;
            Ok::<_, anyhow::Error>(held)
        };
        until(&format!("worker {} has an item", self.name), || async {
            if held().await?.is_none() {
                return Ok(None);
            }
            // It may just be ending the item.
            self.process.freeze()?;
            let id = held().await?;
            if id.is_none() {
                self.process.thaw()?;
            }
            Ok(id)
        })
        .await
    }
}

/// Finished items.
async fn done(house: &House, run: ExecutionId) -> Result<i64> {
    house.count(&format!("work WHERE execution_id = '{run}' AND state = 'done'")).await
}

/// Waits until some more items are done than there were.
async fn until_more(house: &House, run: ExecutionId) -> Result<()> {
    let before = done(house, run).await?;
    let more = || async { Ok((done(house, run).await? >= before + 3).then_some(())) };
    until("more items are done", more).await
}

/// What a run has in the end whatever its tokens are: rows by step that its config determines.
async fn shape(house: &House, run: ExecutionId) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for query in [
        "SELECT concat_ws(' ', 'state', state, step) FROM executions WHERE id = $1",
        "SELECT concat_ws(' ', 'steps', step, total = ended, finished_at IS NOT NULL) FROM steps WHERE execution_id = $1",
        "SELECT concat_ws(' ', 'work', step, phase, round, state, count(*)) FROM work
         WHERE execution_id = $1 AND phase IN ('birth', 'propose') GROUP BY step, phase, round, state",
        "SELECT concat_ws(' ', 'asked', id, md5(payload::text)) FROM work
         WHERE execution_id = $1 AND step = 0 AND phase = 'propose'",
        "SELECT concat_ws(' ', 'members', born_step, died_step, count(*)) FROM members WHERE run_id = $1
         GROUP BY born_step, died_step",
        "SELECT concat_ws(' ', 'versions', step, count(*)) FROM adapter_versions WHERE run_id = $1 GROUP BY step",
        "SELECT concat_ws(' ', 'first weights', id, artifact) FROM adapter_versions WHERE run_id = $1 AND ordinal = 0 AND step = 0",
        "SELECT concat_ws(' ', 'proposals', step, count(*)) FROM problems WHERE run_id = $1 AND proposer_id IS NOT NULL
         GROUP BY step",
        "SELECT concat_ws(' ', 'matchups', step, count(*)) FROM matchups WHERE run_id = $1 GROUP BY step",
        "SELECT concat_ws(' ', 'ratings', step, count(*)) FROM ratings WHERE run_id = $1 GROUP BY step",
        "SELECT concat_ws(' ', 'metrics', step, count(*)) FROM metrics WHERE run_id = $1 GROUP BY step",
    ] {
        let mut found: Vec<String> = sqlx::query_scalar(query).bind(run.0).fetch_all(house.pool()).await?;
        ensure!(!found.is_empty(), "no rows for {query}");
        found.sort();
        rows.extend(found);
    }
    Ok(rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_and_servers_that_are_killed_complete_a_run_together() -> Result<()> {
    let Some(programs) = Programs::beside(env!("CARGO_BIN_EXE_scripted-worker"))? else {
        eprintln!("SKIPPED: `cargo build --workspace --bins` has not been run");
        return Ok(());
    };
    let models_folder = models();
    let vllm = StandIn::start(&models_folder.join("seedling")).await?;
    let (models, url) = (models_folder.display().to_string(), vllm.url());
    let house = House::new().await?;
    std::fs::create_dir_all(house.artifacts())?;
    let adapters = house.artifacts().with_file_name("adapters").display().to_string();
    let mut servers = [house.lyceum_server(&programs)?, house.lyceum_server(&programs)?];
    let start = |name, arguments: Vec<_>| Worker::start(&house, &programs, name, arguments);
    let verifier = start("verifier", vec!["--kinds", "verify"])?;
    let sampler = start(
        "sampler",
        vec![
            "--kinds",
            "rollout,benchmark",
            "--samplers",
            "served",
            "--vllm",
            &url,
            "--vllm-adapters",
            &adapters,
            "--models",
            &models,
        ],
    )?;
    let trainer = start(
        "trainer",
        vec!["--kinds", "update,evolve", "--samplers", "engine", "--device", "cpu", "--models", &models],
    )?;
    let began = Instant::now();
    let run = house.begin_document(1, &document()?).await?;
    let sampler = sampler.kill().await?;
    let verifier = verifier.kill().await?;
    let trainer = trainer.kill().await?;
    for server in &mut servers {
        until_more(&house, run).await?;
        let new = house.lyceum_server(&programs)?;
        std::mem::replace(server, new).kill()?;
    }
    let running = house.count(&format!("executions WHERE id = '{run}' AND state = 'running'")).await?;
    ensure!(running == 1, "the run had ended before everything was killed");
    house.until_completed(run).await?;
    let together = began.elapsed();
    drop((sampler, verifier, trainer, servers));

    let lost: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT kind FROM work WHERE execution_id = $1 AND state = 'done' AND attempts > 1
         AND errors::text LIKE '%lost%' ORDER BY kind",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    ensure!(lost.len() >= 3, "items of {lost:?} alone were tried again");
    let (changed, all) = changes(&house, run).await?;
    ensure!(changed > 0, "none of {all} versions is new");
    let compared = check_versions(&house, run).await?;
    ensure!(compared.versions > 0, "no tokens were compared with their versions");

    let vllm = StandIn::start(&models_folder.join("seedling")).await?;
    let play = Play::open(vec![vllm.url()]).await?;
    let began = Instant::now();
    let alone = play.house.begin_document(1, &document()?).await?;
    play.house.until_completed(alone).await?;
    let one = began.elapsed();
    let other = play.close().await;
    let (found, expected) = (shape(&house, run).await?, shape(&other, alone).await?);
    let missing: Vec<&String> = expected.iter().filter(|row| !found.contains(row)).collect();
    let more: Vec<&String> = found.iter().filter(|row| !expected.contains(row)).collect();
    ensure!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nmore: {more:#?}");
    let (of_many, of_one) = (house.remains(run).await?, other.remains(alone).await?);
    let of_one: HashSet<String> = of_one.into_iter().collect();
    let equal = of_many.iter().filter(|row| of_one.contains(*row)).count();
    println!(
        "{} s together with every process killed once, {} s in one process; {equal} of {} rows equal; {compared:?}",
        Duration::as_secs(&together),
        Duration::as_secs(&one),
        of_many.len()
    );
    Ok(())
}
