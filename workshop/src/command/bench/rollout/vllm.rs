//! vLLM, compared with the engine: in a process of its own, called over HTTP, and through the worker's served sampler.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::future::try_join_all;
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::VersionId;
use lyceum_core::work::{
    AdapterRef, BaseModel, Compute, Dtype, Outcome, Prompt, RolloutPayload, RolloutRequest, Sampler, Sampling, WorkKey,
    WorkKind,
};
use lyceum_engine::Population;
use lyceum_engine::peft::member_files;
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::ModelsFolder;
use lyceum_worker::by_hand::Item;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::RolloutHandler;
use lyceum_worker::sampler::{Samplers, Served, ServedSettings};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::Peer;
use crate::command::bench::{Spent, measured};

const PEER: &str = include_str!("vllm_peer.py");
/// How long a server may take to start.
const START: Duration = Duration::from_secs(600);
/// What a server calls the base.
const BASE: &str = "base";
/// What the worker's sampler may take, as a multiple of the same requests without it.
const LIMIT: f64 = 1.1;

/// The work that is measured.
pub(super) struct Load {
    pub(super) prompts: Vec<Vec<i64>>,
    /// The adapter of each prompt.
    pub(super) adapters: Vec<usize>,
    pub(super) new: usize,
    pub(super) rank: u32,
    pub(super) dtype: Dtype,
    pub(super) repeats: usize,
}

pub(super) struct Measured {
    /// In a process of its own, with the processor time of that process.
    pub(super) offline: Spent,
    /// Over HTTP, all requests in flight at once; with the processor time of the client.
    pub(super) direct: Spent,
    /// The same through the worker's sampler.
    pub(super) served: Spent,
}

impl Measured {
    /// What the worker's sampler takes, as a multiple of the same requests without it, and what it may.
    pub(super) fn overhead(&self) -> (f64, f64) {
        (self.served.wall.as_secs_f64() / self.direct.wall.as_secs_f64(), LIMIT)
    }
}

/// Measures vLLM on the base in the folder `model` with the adapters of `population`.
pub(super) fn measure(python: &OsStr, model: &Path, population: &Population, load: &Load) -> anyhow::Result<Measured> {
    let stage = Stage::new(model, population)?;
    eprintln!("vLLM in a process of its own …");
    let offline = stage.offline(python, load)?;
    eprintln!("vLLM's server …");
    let server = Server::start(python, &stage, load)?;
    let runtime = Runtime::new()?;
    let payload = stage.payload(&runtime, load)?;
    // The sampler installs what HTTP clients need of TLS.
    let handlers = runtime.block_on(async { stage.handlers(&server) })?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    runtime.block_on(server.ready(&client))?;
    runtime.block_on(server.load(&client, &stage.folders))?;
    let bodies: Vec<String> = (0..load.prompts.len()).map(|place| body(load, place).to_string()).collect();
    // The first requests of a server take far longer.
    runtime.block_on(direct(&client, &server, &bodies))?;
    runtime.block_on(stage.served(&handlers, &payload))?;
    let (mut straight, mut served) = (Spent::MAX, Spent::MAX);
    for _ in 0..load.repeats {
        let spent = measured(|| runtime.block_on(direct(&client, &server, &bodies)))?;
        straight = straight.min(spent);
        let spent = measured(|| runtime.block_on(stage.served(&handlers, &payload)))?;
        served = served.min(spent);
    }
    Ok(Measured { offline, direct: straight, served })
}

/// The files that both sides read.
struct Stage {
    /// A link to the model's folder, under the name that the server has for it.
    models: TempDir,
    adapters: TempDir,
    /// PEFT folders, by member.
    folders: Vec<PathBuf>,
    artifacts: ArtifactStore,
    archives: Vec<Vec<u8>>,
}

impl Stage {
    fn new(model: &Path, population: &Population) -> anyhow::Result<Self> {
        let (models, adapters) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let model = model.canonicalize().with_context(|| model.display().to_string())?;
        std::os::unix::fs::symlink(model, models.path().join(BASE))?;
        let (mut folders, mut archives) = (Vec::new(), Vec::new());
        for member in 0..population.members() {
            let files = member_files(population, member, BASE)?;
            let folder = adapters.path().join(format!("member-{member}"));
            files.write(&folder)?;
            folders.push(folder);
            archives.push(files.to_archive()?);
        }
        Ok(Self { models, adapters, folders, artifacts: ArtifactStore::in_memory(), archives })
    }

    fn model(&self) -> PathBuf {
        self.models.path().join(BASE)
    }

    fn offline(&self, python: &OsStr, load: &Load) -> anyhow::Result<Spent> {
        let job = json!({
            "model": self.model(),
            "adapters": self.folders,
            "prompts": load.prompts,
            "adapter_of": load.adapters,
            "new": load.new,
            "rank": load.rank,
            "dtype": dtype(load.dtype),
            "longest": longest(load),
            "batched": batched(load),
            "repeats": load.repeats,
        });
        let file = self.adapters.path().join("job.json");
        std::fs::write(&file, job.to_string())?;
        let output = vllm(python).arg("-c").arg(PEER).arg(&file).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "vLLM failed: {said}");
        let answer = String::from_utf8_lossy(&output.stdout);
        let last = answer.lines().last().unwrap_or_default();
        let peer: Peer = serde_json::from_str(last).context("vLLM's answer")?;
        Ok(peer.spent())
    }

    fn payload(&self, runtime: &Runtime, load: &Load) -> anyhow::Result<RolloutPayload> {
        let mut adapters = Vec::new();
        for (member, archive) in self.archives.iter().enumerate() {
            let put = self.artifacts.put(ArtifactKind::Adapter, archive.clone());
            adapters.push(AdapterRef {
                version: VersionId(Uuid::from_u128(member as u128)),
                artifact: runtime.block_on(put)?,
                optimizer: None,
            });
        }
        let requests = load.prompts.iter().zip(&load.adapters).enumerate();
        let requests = requests.map(|(place, (ids, adapter))| RolloutRequest {
            adapter: Some(*adapter as u32),
            ..RolloutRequest::new(
                place.to_string(),
                Prompt::Ids(ids.iter().map(|id| *id as u32).collect()),
                1,
                place as u64,
            )
        });
        Ok(RolloutPayload {
            adapters,
            requests: requests.collect(),
            keep_tokens: true,
            ..RolloutPayload::new(
                BaseModel { name: BASE.to_owned(), revision: None },
                Compute { sampler: Sampler::Served, ..Compute::default() },
                Sampling { max_tokens: load.new as u32, ignore_eos: true, ..Sampling::default() },
            )
        })
    }

    /// The worker's handlers with its served sampler. Needs a tokio runtime around it.
    fn handlers(&self, server: &Server) -> anyhow::Result<Handlers> {
        let settings = ServedSettings {
            servers: vec![server.url.clone()],
            adapters: self.adapters.path().join("served"),
            ..ServedSettings::default()
        };
        let samplers = Samplers {
            served: Some(Served::start(settings, ModelsFolder::resolve(Some(self.models.path())))?),
            ..Samplers::default()
        };
        Ok(Handlers::default().with(RolloutHandler::new(samplers)))
    }

    /// Runs the item as a worker does.
    async fn served(&self, handlers: &Handlers, payload: &RolloutPayload) -> anyhow::Result<()> {
        let item = Item { kind: WorkKind::Rollout, key: WorkKey::new(0, "bench"), payload: payload.clone().into() };
        let Outcome::Rollout(result) = item.run(handlers, self.artifacts.clone().into(), |_, _| {}).await? else {
            bail!("a result of another kind");
        };
        let wanted: u64 = payload.requests.len() as u64 * u64::from(payload.sampling.max_tokens);
        let tokens = result.usage.completion_tokens;
        ensure!(tokens == wanted, "{tokens} tokens instead of {wanted}");
        Ok(())
    }
}

/// A server of vLLM. Ends with its processes when dropped.
struct Server {
    url: String,
    process: Child,
}

impl Server {
    fn start(python: &OsStr, stage: &Stage, load: &Load) -> anyhow::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let options: Vec<OsString> = [
            ("--served-model-name", BASE.to_owned()),
            ("--host", Ipv4Addr::LOCALHOST.to_string()),
            ("--port", port.to_string()),
            // Both sides name the same adapters, each by a name of its own.
            ("--max-loras", stage.folders.len().to_string()),
            ("--max-cpu-loras", (2 * stage.folders.len()).to_string()),
            ("--max-lora-rank", load.rank.to_string()),
            ("--max-num-seqs", load.prompts.len().to_string()),
            ("--max-model-len", longest(load).to_string()),
            ("--max-num-batched-tokens", batched(load).to_string()),
            ("--dtype", dtype(load.dtype).to_owned()),
            ("--logprobs-mode", "raw_logprobs".to_owned()),
            ("--generation-config", "vllm".to_owned()),
            ("--api-server-count", "1".to_owned()),
            ("--uvicorn-log-level", "warning".to_owned()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.into(), value.into()])
        .collect();
        let process = vllm(python)
            .args(["-m", "vllm.entrypoints.openai.api_server", "--model"])
            .arg(stage.model())
            // Each side would find its prompts in the cache.
            .args(["--enable-lora", "--enforce-eager", "--no-enable-prefix-caching"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // Its engine is a process of its own, which is ended with it.
            .process_group(0)
            .spawn()
            .with_context(|| python.display().to_string())?;
        Ok(Self { url: format!("http://{}:{port}", Ipv4Addr::LOCALHOST), process })
    }

    async fn ready(&self, client: &reqwest::Client) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let answer = client.get(format!("{}/health", self.url)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            ensure!(start.elapsed() < START, "vLLM has not started within {} s", START.as_secs());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Loads adapters under the names of their places.
    async fn load(&self, client: &reqwest::Client, folders: &[PathBuf]) -> anyhow::Result<()> {
        for (place, folder) in folders.iter().enumerate() {
            let body = json!({"lora_name": format!("member-{place}"), "lora_path": folder});
            send(client, &format!("{}/v1/load_lora_adapter", self.url), body.to_string()).await?;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGKILL);
        let _ = self.process.wait();
    }
}

/// Sends all requests at once and reads the answers, without looking into them.
async fn direct(client: &reqwest::Client, server: &Server, bodies: &[String]) -> anyhow::Result<()> {
    let address = format!("{}/v1/completions", server.url);
    try_join_all(bodies.iter().map(|body| send(client, &address, body.clone()))).await?;
    Ok(())
}

async fn send(client: &reqwest::Client, address: &str, body: String) -> anyhow::Result<()> {
    let request = client.post(address).header("Content-Type", "application/json").body(body);
    let answer = request.send().await?;
    let status = answer.status();
    let bytes = answer.bytes().await?;
    ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
    Ok(())
}

/// What is asked of the server for a prompt: as much as the worker asks.
fn body(load: &Load, place: usize) -> Value {
    json!({
        "model": format!("member-{}", load.adapters[place]),
        "prompt": load.prompts[place],
        "max_tokens": load.new,
        "temperature": 1.0,
        "seed": place,
        "ignore_eos": true,
        "logprobs": 0,
        "return_token_ids": true,
    })
}

/// A precision by vLLM's name.
fn dtype(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp32 => "float32",
        Dtype::Bf16 => "bfloat16",
    }
}

/// Tokens of all prompts: none is read in parts, after which vLLM 0.32 fails on a CPU for a request with a seed.
fn batched(load: &Load) -> usize {
    load.prompts.len() * longest(load)
}

/// The longest sequence, with some room.
fn longest(load: &Load) -> usize {
    load.prompts.iter().map(Vec::len).max().unwrap_or(0) + load.new + 1
}

/// vLLM's interpreter, told to compute on the CPU if that is all there is.
fn vllm(python: &OsStr) -> Command {
    let mut command = Command::new(python);
    command.envs([
        ("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1"),
        ("VLLM_CPU_KVCACHE_SPACE", "1"),
        ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
        ("HF_HUB_OFFLINE", "1"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("VLLM_LOGGING_LEVEL", "WARNING"),
    ]);
    command
}
