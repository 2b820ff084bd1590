//! `lyceum-worker work`: takes work from the queue until stopped.

mod device;
mod machine_memory;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::WorkKind;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use lyceum_store::{Remote, Store};
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::Rows;
use lyceum_worker::item_log::ItemLogs;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

use super::handlers::HandlerArgs;
use device::Device;

/// Take work from a database's queue and run it, until stopped
///
/// On the server's machine:
///
///   lyceum-worker work --database postgres://lyceum@localhost/lyceum --artifacts /var/lib/lyceum/artifacts
///
/// On another machine, accessing artifacts through the server:
///
///   LYCEUM_TOKEN=lyc_… lyceum-worker work --database postgres://… --server http://lyceum.example:8080
///
/// On SIGTERM or Ctrl-C, claimed items get --drain-seconds to finish and the rest is handed back;
/// a second signal hands everything back immediately.
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
    /// A server token with scope worker.
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
    /// Maximum memory for an item, in GiB; items that need more are left to other workers, and generation on a GPU plans with no
    /// more [default: what is free on the GPU at the start; on a CPU seven eighths of what is free].
    #[arg(long, env = "LYCEUM_DEVICE_MEMORY_GIB", value_name = "GIB", value_parser = gibibytes)]
    device_memory_gib: Option<u64>,
    /// Adapters to keep in the temporary folder (TMPDIR) after their items, in GiB, so that each is read from the artifacts
    /// once.
    #[arg(long, env = "LYCEUM_ADAPTERS_KEPT_GIB", value_name = "GIB", default_value = "4", value_parser = gibibytes_or_none)]
    adapters_kept_gib: u64,
    #[command(flatten)]
    handlers: HandlerArgs,
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
            Ok("json") => lines.json().flatten_event(true).finish().with(ItemLogs).init(),
            _ => lines.with_ansi(is_coloured()).finish().with(ItemLogs).init(),
        }
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        threads.block_on(self.work())
    }

    async fn work(self) -> anyhow::Result<()> {
        let store = Store::connect_worker(&self.database, 12)
            .await
            .context("cannot use the database (--database)")?;
        // Zygotes and the engine start on threads that may block.
        #[cfg(feature = "engine")]
        if let Some(bytes) = self.device_memory_gib {
            lyceum_engine::device::limit_memory(bytes);
        }
        let (this, rows) = (Arc::new(self), Rows::Stored(store.clone()));
        let starting = Arc::clone(&this);
        let handlers = tokio::task::spawn_blocking(move || starting.handlers.start(&starting.kinds(), &rows)).await??;
        this.serve(store, handlers).await
    }

    async fn serve(&self, store: Store, handlers: Handlers) -> anyhow::Result<()> {
        let artifacts = match (&self.artifacts, &self.server, &self.token) {
            (Some(place), ..) => ArtifactStore::open(place, store.pool().clone()).await?,
            (None, Some(server), Some(token)) => ArtifactStore::remote(Remote::new(server, token)),
            _ => bail!("the location of the artifacts is missing: --artifacts PLACE, or --server URL with --token"),
        };
        let jobs = self.handlers.pool.config().jobs;
        let defaults = self.described(RuntimeSettings::default())?;
        let settings = RuntimeSettings {
            name: self.name.clone().unwrap_or(defaults.name.clone()),
            verifier_slots: jobs,
            served_slots: self.handlers.served.items(),
            adapters_bytes: self.adapters_kept_gib,
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
        let unfit = tokio::select! {
            _ = interrupt.recv() => None,
            _ = terminate.recv() => None,
            why = runtime.unfit() => Some(why),
        };
        tracing::info!("stopping; claimed items have {} s to finish", self.drain_seconds);
        let hurry = runtime.abandon_token();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            hurry.cancel();
        });
        runtime.drain().await;
        match unfit {
            Some(why) => bail!(why),
            None => Ok(()),
        }
    }

    /// The settings with the known properties of the device.
    fn described(&self, settings: RuntimeSettings) -> anyhow::Result<RuntimeSettings> {
        let device = self.device()?;
        let memory_bytes = self.device_memory_gib.or(device.memory_bytes);
        Ok(RuntimeSettings {
            device: device.name,
            memory_bytes: memory_bytes.unwrap_or(settings.memory_bytes),
            ..settings
        })
    }

    #[cfg(feature = "engine")]
    fn device(&self) -> anyhow::Result<Device> {
        if !self.handlers.uses_engine(&self.kinds()) {
            return Ok(Device::cpu());
        }
        let placement = lyceum_engine::Placement::new(&self.handlers.device, Dtype::Fp32)?;
        Ok(placement.gpu().map_or_else(Device::cpu, Device::cuda))
    }

    #[cfg(not(feature = "engine"))]
    fn device(&self) -> anyhow::Result<Device> {
        Ok(Device::cpu())
    }

    /// The requested kinds, or all.
    fn kinds(&self) -> Vec<WorkKind> {
        match &self.kinds[..] {
            [] => self.handlers.kinds(),
            kinds => kinds.to_vec(),
        }
    }
}

/// Whether the log has colours. `lyceum up` in a terminal, which passes the log on, asks for them.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal() || std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0")
}

/// A number of GiB as bytes, or 0.
fn gibibytes_or_none(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => gibibytes(text),
    }
}

/// A number of GiB as bytes.
fn gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(gibibytes) if (0.001..=1e6).contains(&gibibytes) => Ok((gibibytes * f64::from(1 << 30)) as u64),
        _ => Err("not a number of GiB from 0.001 to 1000000".to_owned()),
    }
}
