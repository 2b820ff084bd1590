//! `lyceum-worker work`: takes work from the queue until stopped.

#[cfg(feature = "engine")]
mod device;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::WorkKind;
use lyceum_store::Store;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore, RemoteArtifacts};
use lyceum_verifier::Verifier;
#[cfg(feature = "engine")]
use lyceum_worker::engine::{Engine, ModelsFolder};
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::VerifyHandler;
#[cfg(feature = "engine")]
use lyceum_worker::handlers::{BenchmarkHandler, EvolveHandler, RolloutHandler, UpdateHandler};
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use tokio::signal::unix::{SignalKind, signal};

#[cfg(feature = "engine")]
use device::Device;

/// The kinds that this build serves.
#[cfg(feature = "engine")]
const SERVED: [WorkKind; 5] = WorkKind::ALL;
#[cfg(not(feature = "engine"))]
const SERVED: [WorkKind; 1] = [WorkKind::Verify];

/// Take work from a database's queue and run it, until stopped.
///
/// On the server's machine:
///
///   lyceum-worker work --database postgres://lyceum@localhost/lyceum --artifacts /var/lib/lyceum/artifacts
///
/// On another machine, accessing artifacts through the server:
///
///   LYCEUM_TOKEN=lyc_… lyceum-worker work --database postgres://… --server http://lyceum.example:8080
///
/// On SIGTERM or Ctrl-C, claimed items get --drain-seconds to finish and the rest is handed back; a second signal hands
/// everything back immediately.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Work {
    /// The database that the server uses.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database: String,
    /// Location of the artifacts, same as for the server: a folder accessible from this machine, or s3://BUCKET/PREFIX.
    #[arg(long, env = "LYCEUM_ARTIFACTS", value_name = "PLACE")]
    artifacts: Option<ArtifactPlace>,
    /// The server, to read and write artifacts through if this machine has no direct access.
    #[arg(long, env = "LYCEUM_SERVER", value_name = "URL")]
    server: Option<String>,
    /// A server token with scope write.
    #[arg(long, env = "LYCEUM_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The worker's name [default: a generated name].
    #[arg(long, env = "LYCEUM_WORKER_NAME", value_name = "NAME")]
    name: Option<String>,
    /// Kinds of work to take, comma-separated [default: all that this worker can serve].
    #[arg(long, env = "LYCEUM_KINDS", value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<WorkKind>,
    /// Seconds for claimed items to finish when the worker is stopped.
    #[arg(long, env = "LYCEUM_DRAIN_SECONDS", value_name = "SECONDS", default_value_t = 25)]
    drain_seconds: u64,
    /// Seconds until a claim expires without renewal: a lost worker's items are retried after this.
    #[arg(long, env = "LYCEUM_LEASE_SECONDS", value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(2..=3600))]
    lease_seconds: u64,
    /// Folder with the base models that configs name by folder [default: models here or above].
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_MODELS", value_name = "DIR")]
    models: Option<std::path::PathBuf>,
    /// Device: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_DEVICE", value_name = "DEVICE", default_value = "auto")]
    device: String,
    /// Maximum memory for an item, in GiB; updates that need more are left to other workers [default: the GPU's memory;
    /// unlimited on a CPU].
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_DEVICE_MEMORY_GIB", value_name = "GIB", value_parser = gibibytes)]
    device_memory_gib: Option<u64>,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Work {
    /// Works until stopped.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let lines = tracing_subscriber::fmt()
            .with_env_filter(
                tracing_subscriber::EnvFilter::try_from_env("LYCEUM_LOG").unwrap_or_else(|_| "info".into()),
            )
            .with_writer(std::io::stderr);
        match std::env::var("LYCEUM_LOG_FORMAT").as_deref() {
            Ok("json") => lines.json().flatten_event(true).init(),
            _ => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        }
        self.check_kinds()?;
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        threads.block_on(self.work())
    }

    async fn work(self) -> anyhow::Result<()> {
        let store = Store::connect_worker(&self.database, 12)
            .await
            .context("cannot use the database (--database)")?;
        // Zygotes and the engine start on threads that may block.
        let (this, of) = (Arc::new(self), store.clone());
        let starting = Arc::clone(&this);
        let handlers = tokio::task::spawn_blocking(move || starting.handlers(&of)).await??;
        this.serve(store, handlers).await
    }

    async fn serve(&self, store: Store, handlers: Handlers) -> anyhow::Result<()> {
        let artifacts = match (&self.artifacts, &self.server, &self.token) {
            (Some(place), ..) => ArtifactStore::open(place, store.pool().clone()).await?,
            (None, Some(server), Some(token)) => ArtifactStore::remote(RemoteArtifacts::new(server, token)),
            _ => bail!("the location of the artifacts is missing: --artifacts PLACE, or --server URL with --token"),
        };
        let jobs = self.pool.config().jobs;
        let defaults = self.described(RuntimeSettings::default())?;
        let settings = RuntimeSettings {
            name: self.name.clone().unwrap_or(defaults.name.clone()),
            verifier_slots: jobs,
            lease: Duration::from_secs(self.lease_seconds),
            drain_time: Duration::from_secs(self.drain_seconds),
            ..defaults
        };
        let kinds: Vec<&str> = handlers.kinds().map(WorkKind::name).collect();
        let name = settings.name.clone();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let runtime = Runtime::start(&store, artifacts, handlers, settings).await?;
        tracing::info!(worker.name = %name, kinds = kinds.join(","), "worker {name} takes {}", kinds.join(", "));
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        tracing::info!("stopping; claimed items have {} s to finish", self.drain_seconds);
        let hurry = runtime.abandon_token();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            hurry.cancel();
        });
        runtime.drain().await;
        Ok(())
    }

    /// The settings with the known properties of the device.
    #[cfg(feature = "engine")]
    fn described(&self, settings: RuntimeSettings) -> anyhow::Result<RuntimeSettings> {
        if !self.uses_engine() {
            return Ok(settings);
        }
        let placement = lyceum_engine::Placement::new(&self.device, Dtype::Fp32)?;
        let index = self.device.strip_prefix("cuda:").and_then(|index| index.parse().ok());
        let device = match placement.device.is_cuda() {
            true => Device::cuda(index.unwrap_or(0)),
            false => Device::cpu(),
        };
        let memory_bytes = self.device_memory_gib.or(device.memory_bytes);
        Ok(RuntimeSettings {
            device: device.name,
            memory_bytes: memory_bytes.unwrap_or(settings.memory_bytes),
            ..settings
        })
    }

    #[cfg(not(feature = "engine"))]
    fn described(&self, settings: RuntimeSettings) -> anyhow::Result<RuntimeSettings> {
        Ok(settings)
    }

    fn check_kinds(&self) -> anyhow::Result<()> {
        if let Some(kind) = self.kinds.iter().find(|kind| !SERVED.contains(kind)) {
            let served = SERVED.map(WorkKind::name).join(", ");
            bail!("this build of the worker cannot serve --kinds {kind}; it can serve: {served}");
        }
        Ok(())
    }

    fn wants(&self, kind: WorkKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    #[cfg(feature = "engine")]
    fn uses_engine(&self) -> bool {
        SERVED.iter().any(|kind| *kind != WorkKind::Verify && self.wants(*kind))
    }

    /// The handlers of the requested kinds, or all handlers.
    #[cfg_attr(
        not(feature = "engine"),
        allow(unused_variables, reason = "verification reads no rows")
    )]
    fn handlers(&self, store: &Store) -> anyhow::Result<Handlers> {
        let wanted = |kind| self.wants(kind);
        let mut handlers = Handlers::default();
        if wanted(WorkKind::Verify) {
            let pool = self.pool.config();
            let jobs = pool.jobs;
            let verifier = Verifier::start(&pool).context("the sandbox of `verify` cannot be used")?;
            handlers = handlers.with(VerifyHandler::new(verifier, jobs));
        }
        #[cfg(feature = "engine")]
        if self.uses_engine() {
            let engine = self.engine()?;
            if wanted(WorkKind::Rollout) {
                handlers = handlers.with(RolloutHandler::new(engine.clone()));
            }
            if wanted(WorkKind::Benchmark) {
                handlers = handlers.with(BenchmarkHandler::new(engine.clone(), store.clone()));
            }
            if wanted(WorkKind::Update) {
                handlers = handlers.with(UpdateHandler::new(engine));
            }
            if wanted(WorkKind::Evolve) {
                handlers = handlers.with(EvolveHandler::new(self.models()));
            }
        }
        Ok(handlers)
    }

    #[cfg(feature = "engine")]
    fn engine(&self) -> anyhow::Result<Engine> {
        // Fail on a wrong device now, not at the first item.
        lyceum_engine::Placement::new(&self.device, Dtype::Fp32)?;
        Engine::start(self.models(), &self.device).context("the engine's thread cannot be started")
    }

    #[cfg(feature = "engine")]
    fn models(&self) -> ModelsFolder {
        ModelsFolder::resolve(self.models.as_deref())
    }
}

/// A number of GiB as bytes.
#[cfg(feature = "engine")]
fn gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(gibibytes) if (0.001..=1e6).contains(&gibibytes) => Ok((gibibytes * f64::from(1 << 30)) as u64),
        _ => Err("not a number of GiB from 0.001 to 1000000".to_owned()),
    }
}
