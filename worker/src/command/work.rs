//! `lyceum-worker work`: takes work from the queue until stopped.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::{Kernels, WorkKind};
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use lyceum_store::{Remote, Store};
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::Rows;
use lyceum_worker::item_log::ItemLogs;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::handlers::HandlerArgs;

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
        let store = Store::connect_worker(&self.database, 12).await.context("cannot use the database (--database)")?;
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
            kernels: device.kernels,
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

/// A device by name, with the memory that an item may take of it if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Device {
    /// `cpu`, or the GPU's name.
    name: String,
    kernels: Option<Kernels>,
    /// In bytes.
    memory_bytes: Option<u64>,
}

impl Device {
    /// A CPU with what its machine has left.
    fn cpu() -> Self {
        Self {
            name: "cpu".to_owned(),
            kernels: std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|processors| kernels(&processors)),
            memory_bytes: offered(),
        }
    }

    /// The GPU that CUDA counts as `index`, with what was free on it at the start.
    #[cfg(feature = "engine")]
    fn cuda(index: usize) -> Self {
        use lyceum_engine::device;
        let name = device::gpu_name(index).unwrap_or_else(|| format!("cuda:{index}"));
        let memory_bytes = device::memory(index);
        if memory_bytes.is_none() {
            tracing::warn!(
                "the memory of {name} is not known, so items of any size are taken here; set --device-memory-gib to what they \
                 may need"
            );
        }
        Self { name, kernels: None, memory_bytes }
    }
}

/// The share that stays for everything else on the machine: page cache, the sandbox's programs, the worker itself.
const ROOM: u64 = 8;

/// Bytes that an item may take; `None` if the system does not say.
fn offered() -> Option<u64> {
    free(Path::new("/")).map(|free| free - free / ROOM)
}

/// Bytes that are free on the machine and in each control group that this process is in, whichever is less.
fn free(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let meminfo = read("proc/meminfo")?;
    let machine = kibibytes(&meminfo, "MemAvailable:")?;
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (mount, limit, usage, reclaimable) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
            }
            _ => return None,
        };
        // A container may see its own group as the root, under the name that the machine has for it.
        let above = Path::new(group.trim_start_matches('/')).ancestors();
        let left = above.filter_map(|group| {
            let number = |name: &str| -> Option<u64> {
                let text = std::fs::read_to_string(root.join(mount).join(group).join(name)).ok()?;
                text.trim().parse().ok()
            };
            let stat = std::fs::read_to_string(root.join(mount).join(group).join("memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse().ok());
            Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(cached.unwrap_or(0))))
        });
        left.min()
    });
    of_groups.chain([machine]).min()
}

fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// The largest instruction set that a processor has, by what `/proc/cpuinfo` says of it.
fn kernels(processors: &str) -> Option<Kernels> {
    let flags = processors.lines().find(|line| line.starts_with("flags"))?;
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    [
        ("amx_bf16", Kernels::Amx),
        ("avx512_bf16", Kernels::Avx512Bf16),
        ("avx512f", Kernels::Avx512),
        ("avx2", Kernels::Avx2),
    ]
    .into_iter()
    .find_map(|(flag, kernels)| has(flag).then_some(kernels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_instruction_set_counts() {
        let of = |flags: &str| kernels(&format!("processor\t: 0\nflags\t\t: fpu {flags} sse2\nbugs\t\t: avx512f\n"));
        assert_eq!(of("avx avx2"), Some(Kernels::Avx2));
        assert_eq!(of("avx2 avx512f avx512vl"), Some(Kernels::Avx512));
        assert_eq!(of("avx512_bf16 avx512f avx2"), Some(Kernels::Avx512Bf16));
        assert_eq!(of("avx512_bf16 avx512f avx2 amx_bf16"), Some(Kernels::Amx));
        assert_eq!(of("avx"), None);
        assert_eq!(kernels("Features\t: asimd"), None);
    }

    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        free(root.path())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:   1000 kB\n");

    #[test]
    fn without_a_limit_it_is_what_the_machine_has() {
        assert_eq!(machine(&[MEMINFO]), Some(1_024_000));
        assert_eq!(machine(&[]), None);
        let unlimited = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "500000\n"),
        ];
        assert_eq!(machine(&unlimited), Some(1_024_000));
    }

    #[test]
    fn the_tightest_group_counts_and_its_cache_is_free() {
        let groups = [
            MEMINFO,
            ("proc/self/cgroup", "0::/all/one\n"),
            ("sys/fs/cgroup/all/memory.max", "900000\n"),
            ("sys/fs/cgroup/all/memory.current", "700000\n"),
            ("sys/fs/cgroup/all/memory.stat", "anon 1\ninactive_file 100000\n"),
            ("sys/fs/cgroup/all/one/memory.max", "800000\n"),
            ("sys/fs/cgroup/all/one/memory.current", "100000\n"),
        ];
        assert_eq!(machine(&groups), Some(300_000));
    }

    #[test]
    fn the_first_kind_of_groups_is_read_too_in_a_container_that_sees_its_own_as_the_root() {
        let groups = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu,memory:/docker/1f\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 50000\n"),
        ];
        assert_eq!(machine(&groups), Some(450_000));
    }

    #[test]
    fn this_machine_has_some() {
        assert!(offered().is_some_and(|bytes| bytes > 1 << 20));
    }
}
