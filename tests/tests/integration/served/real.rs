//! The same with vLLM itself, on the CPU: `script/check-vllm`. Skipped without `VLLM_PYTHON`, an interpreter that has vLLM.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::{ExecutionId, VersionId};
use lyceum_core::work::{AdapterRef, BaseModel, Compute, Sampler};
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::house::{House, until};
use lyceum_worker::ModelsFolder;
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::RolloutHandler;
use lyceum_worker::sampler::{Samplers, Served, ServedSettings};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::served::run::{Play, changes, check_versions, models};
use crate::served::stage::{Stage, difference, ids, payload};

/// vLLM on the seedling. Ends with its processes when dropped.
struct Vllm {
    python: String,
    port: u16,
    /// The folder in which it finds adapters by itself.
    resolver: Option<String>,
    process: Option<Child>,
}

impl Vllm {
    /// Starts it; `None` where there is none.
    fn start(resolver: Option<&Path>) -> Result<Option<Self>> {
        let Ok(python) = std::env::var("VLLM_PYTHON") else {
            println!("SKIPPED: VLLM_PYTHON names no interpreter that has vLLM; see docs/SCALING.md");
            return Ok(None);
        };
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut vllm =
            Self { python, port, resolver: resolver.map(|folder| folder.display().to_string()), process: None };
        vllm.restart()?;
        Ok(Some(vllm))
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn restart(&mut self) -> Result<()> {
        let seedling = models().join("seedling").canonicalize()?;
        let mut command = Command::new("nice");
        command
            .args(["-n", "5", &self.python, "-m", "vllm.entrypoints.openai.api_server", "--model"])
            .arg(seedling)
            .args(["--served-model-name", "seedling", "--host", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--enable-lora", "--max-loras", "4", "--max-lora-rank", "8", "--max-cpu-loras", "8"])
            .args(["--logprobs-mode", "raw_logprobs", "--generation-config", "vllm", "--dtype", "float32"])
            .args(["--max-model-len", "512", "--enforce-eager", "--api-server-count", "1"])
            // On a CPU, vLLM 0.32 fails for a request with a seed whose prompt it reads in parts.
            .args(["--max-num-batched-tokens", "65536"])
            .args(["--uvicorn-log-level", "warning"])
            .envs([
                ("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1"),
                ("VLLM_CPU_KVCACHE_SPACE", "1"),
                ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
                ("OMP_NUM_THREADS", "2"),
                ("HF_HUB_OFFLINE", "1"),
                ("VLLM_NO_USAGE_STATS", "1"),
                ("VLLM_LOGGING_LEVEL", "WARNING"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // Its engine is a process of its own, which is ended with it.
            .process_group(0);
        if let Some(folder) = &self.resolver {
            command.env("VLLM_PLUGINS", "lora_filesystem_resolver");
            command.env("VLLM_LORA_RESOLVER_CACHE_DIR", folder);
        }
        self.process = Some(command.spawn().context("cannot start vLLM")?);
        Ok(())
    }

    /// `kill -9` of all its processes.
    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = killpg(Pid::from_raw(process.id().cast_signed()), Signal::SIGKILL);
            let _ = process.wait();
        }
    }
}

impl Drop for Vllm {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The demo's population over a few steps, on servers.
fn demo(steps: u32) -> Result<Value> {
    let preset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/runs/demo.toml");
    let mut document: Value = toml::from_str(&std::fs::read_to_string(preset)?)?;
    document["seed"] = json!(7);
    document["steps"] = json!(steps);
    document["compute"]["sampler"] = json!("served");
    document["scheduling"] = json!({"max_attempts": 3});
    // Held-out suites need their datasets, which the server imports.
    document.as_object_mut().context("a table")?.remove("benchmarks");
    Ok(document)
}

async fn ended(house: &House, run: ExecutionId) -> Result<i64> {
    let count = "SELECT count(*) FROM work WHERE execution_id = $1 AND sampler = 'served' AND state = 'done'";
    Ok(sqlx::query_scalar(count).bind(run.0).fetch_one(house.pool()).await?)
}

/// The largest `sampler_mismatch` of the members of a run.
async fn mismatch(house: &House, run: ExecutionId) -> Result<f64> {
    let mismatch: Option<f64> = sqlx::query_scalar(
        "SELECT max((m #>> '{diagnostics,sampler_mismatch}')::float8)
         FROM work, jsonb_array_elements(result::jsonb #> '{update,members}') m
         WHERE execution_id = $1 AND kind = 'update' AND state = 'done'",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    mismatch.context("nothing was learned")
}

/// Completes a run although `disturb` is done to a server in its middle, and checks whose tokens it learned from.
async fn disturbed(servers: Vec<String>, disturb: impl FnOnce() -> Result<()>) -> Result<(House, ExecutionId)> {
    let play = Play::open_with(servers, |_| {}).await?;
    let run = play.house.begin_document(1, &demo(4)?).await?;
    until("the second step", || async { Ok((ended(&play.house, run).await? >= 8).then_some(())) }).await?;
    disturb()?;
    play.house.until_completed(run).await?;
    let house = play.close().await;
    let (changed, all) = changes(&house, run).await?;
    ensure!(all == 4 * 4 && changed == all, "{changed} of {all} versions are new");
    let compared = check_versions(&house, run).await?;
    let mismatch = mismatch(&house, run).await?;
    println!("{all} new versions; {compared:?}; sampler_mismatch at most {mismatch:.2e}");
    ensure!(compared.bases == 0, "{compared:?}");
    ensure!(mismatch < 1e-3, "sampler_mismatch is {mismatch}");
    Ok((house, run))
}

/// The newest versions of three members.
async fn three(house: &House, run: ExecutionId) -> Result<Vec<AdapterRef>> {
    let rows: Vec<(Uuid, String)> = sqlx::query_as(
        "SELECT DISTINCT ON (member_id) id, artifact FROM adapter_versions WHERE run_id = $1
         ORDER BY member_id, ordinal DESC LIMIT 3",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let adapters = rows.into_iter().map(|(version, artifact)| {
        Ok(AdapterRef { version: VersionId(version), artifact: artifact.parse()?, optimizer: None })
    });
    adapters.collect()
}

/// Greedy ids are equal, and log-probabilities differ by less than 1e-3, on the base and on three adapters.
async fn agree(house: &House, run: ExecutionId, url: String) -> Result<()> {
    let stage = Stage {
        artifacts: ArtifactStore::folder(&house.artifacts(), house.pool().clone())?,
        folder: tempfile::tempdir()?,
    };
    let adapters = three(house, run).await?;
    let folder = ModelsFolder::resolve(Some(&models()));
    let engine = Handlers::default().with(RolloutHandler::new(Engine::start(folder.clone(), "cpu")?));
    let settings = ServedSettings {
        servers: vec![url],
        // Where the run's are.
        adapters: house.artifacts().with_file_name("served"),
        base_as_adapter: true,
        ..ServedSettings::default()
    };
    let samplers = Samplers { served: Some(Served::start(settings, folder)?), ..Samplers::default() };
    let served = Handlers::default().with(RolloutHandler::new(samplers));
    let on = |sampler| {
        let mut item = payload(&adapters, sampler);
        item.base_model = BaseModel { name: "seedling".to_owned(), revision: None };
        item.compute = Compute { threads: Some(2), sampler, ..Compute::default() };
        item.sampling.temperature = 0.0;
        item.sampling.max_tokens = 64;
        for (number, request) in item.requests.iter_mut().enumerate() {
            let text = ["def f(x):\n    return x", "a = 3\nb = a +"][number % 2];
            request.prompt = lyceum_core::work::Prompt::Text(text.to_owned());
        }
        item
    };
    let own = stage.tokens(&stage.run(&engine, on(Sampler::Engine)).await?).await?;
    let other = stage.tokens(&stage.run(&served, on(Sampler::Served)).await?).await?;
    assert_eq!(ids(&own), ids(&other));
    let tokens: usize = ids(&own).iter().map(Vec::len).sum();
    let apart = difference(&own, &other);
    println!(
        "greedy: {tokens} tokens of the base and three adapters are equal; log-probabilities differ by {apart:.2e} at most"
    );
    assert!(apart < 1e-3, "{apart}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_vllm_survives_its_restart_and_learns_from_its_own_tokens() -> Result<()> {
    let Some(mut vllm) = Vllm::start(None)? else { return Ok(()) };
    let url = vllm.url();
    let (house, run) = disturbed(vec![url.clone()], || {
        vllm.kill();
        vllm.restart()
    })
    .await?;
    agree(&house, run, url).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_two_replicas_survives_the_end_of_one() -> Result<()> {
    let Some(one) = Vllm::start(None)? else { return Ok(()) };
    let Some(mut other) = Vllm::start(None)? else { return Ok(()) };
    disturbed(vec![one.url(), other.url()], || {
        other.kill();
        Ok(())
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_vllm_that_finds_adapters_by_itself() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(vllm) = Vllm::start(Some(folder.path()))? else { return Ok(()) };
    let adapters = folder.path().to_owned();
    let play = Play::open_with(vec![vllm.url()], |settings| {
        settings.resolver = true;
        settings.adapters = adapters;
    })
    .await?;
    let run = play.house.begin_document(1, &demo(2)?).await?;
    play.house.until_completed(run).await?;
    let house = play.close().await;
    let compared = check_versions(&house, run).await?;
    println!("{compared:?}");
    ensure!(compared.versions >= 8 && compared.bases == 0, "{compared:?}");
    Ok(())
}
