//! The options of commands that run items, and the handlers they describe.

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::{Sampler, WorkKind};
#[cfg(feature = "engine")]
use lyceum_engine::Placement;
use lyceum_verifier::Verifier;
use lyceum_worker::ModelsFolder;
#[cfg(feature = "engine")]
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::{BenchmarkHandler, RolloutHandler, Rows, VerifyHandler};
#[cfg(feature = "engine")]
use lyceum_worker::handlers::{EvolveHandler, UpdateHandler};
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::sampler::Samplers;

use super::served::ServedArgs;

/// The kinds in which tokens are generated.
const SAMPLED: [WorkKind; 2] = [WorkKind::Rollout, WorkKind::Benchmark];

/// Options of commands that run items.
#[derive(Debug, Args)]
pub(crate) struct HandlerArgs {
    /// Folder with the base models that configs name by folder [default: models here or above].
    #[arg(long, env = "LYCEUM_MODELS", value_name = "DIR")]
    models: Option<std::path::PathBuf>,
    /// Device: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_DEVICE", value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: String,
    /// What may generate tokens here: engine, served; separated by commas [default: the engine, and servers if --vllm names
    /// any].
    #[arg(long, env = "LYCEUM_SAMPLERS", value_name = "NAMES", value_delimiter = ',')]
    samplers: Vec<Sampler>,
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
}

impl HandlerArgs {
    /// The kinds of work that this worker can serve.
    pub(crate) fn kinds(&self) -> Vec<WorkKind> {
        let is_served = |kind: &WorkKind| match kind {
            WorkKind::Verify => true,
            WorkKind::Rollout | WorkKind::Benchmark => self.has(Sampler::Engine) || self.has(Sampler::Served),
            WorkKind::Update | WorkKind::Evolve => cfg!(feature = "engine"),
        };
        WorkKind::ALL.into_iter().filter(is_served).collect()
    }

    /// Whether `sampler` may generate tokens here.
    fn has(&self, sampler: Sampler) -> bool {
        let is_there = match sampler {
            Sampler::Engine => cfg!(feature = "engine"),
            Sampler::Served => self.served.is_given(),
        };
        is_there && (self.samplers.is_empty() || self.samplers.contains(&sampler))
    }

    /// Whether items of one of `kinds` may run on the engine.
    #[cfg(feature = "engine")]
    pub(crate) fn uses_engine(&self, kinds: &[WorkKind]) -> bool {
        kinds.iter().any(|kind| match kind {
            WorkKind::Verify => false,
            WorkKind::Rollout | WorkKind::Benchmark => self.has(Sampler::Engine),
            WorkKind::Update | WorkKind::Evolve => true,
        })
    }

    /// The handlers of `kinds`; `rows` are for benchmarks. Blocks while the sandbox and the engine start. Within a tokio
    /// runtime.
    pub(crate) fn start(&self, kinds: &[WorkKind], rows: &Rows) -> anyhow::Result<Handlers> {
        self.check(kinds)?;
        let mut handlers = Handlers::default();
        if kinds.contains(&WorkKind::Verify) {
            let pool = self.pool.config();
            let jobs = pool.jobs;
            let verifier = Verifier::start(&pool).context("the sandbox of `verify` cannot be used")?;
            handlers = handlers.with(VerifyHandler::new(verifier, jobs));
        }
        let models = ModelsFolder::resolve(self.models.as_deref());
        let mut samplers = Samplers::default();
        if self.has(Sampler::Served) && kinds.iter().any(|kind| SAMPLED.contains(kind)) {
            samplers.served = self.served.start(models.clone())?;
        }
        #[cfg(feature = "engine")]
        if self.uses_engine(kinds) {
            // Fail on a wrong device now, not at the first item.
            Placement::new(&self.device, Dtype::Fp32)?;
            let engine =
                Engine::start(models.clone(), &self.device).context("the engine's thread cannot be started")?;
            if kinds.contains(&WorkKind::Update) {
                handlers = handlers.with(UpdateHandler::new(engine.clone()));
            }
            if kinds.contains(&WorkKind::Evolve) {
                handlers = handlers.with(EvolveHandler::new(models));
            }
            samplers.engine = Some(engine).filter(|_| self.has(Sampler::Engine));
        }
        if kinds.contains(&WorkKind::Rollout) {
            handlers = handlers.with(RolloutHandler::new(samplers.clone()));
        }
        if kinds.contains(&WorkKind::Benchmark) {
            handlers = handlers.with(BenchmarkHandler::new(samplers, rows.clone()));
        }
        Ok(handlers)
    }

    fn check(&self, kinds: &[WorkKind]) -> anyhow::Result<()> {
        if self.samplers.contains(&Sampler::Served) && !self.served.is_given() {
            bail!("the sampler `served` (--samplers) needs a server: --vllm URL");
        }
        if self.samplers.contains(&Sampler::Engine) && !cfg!(feature = "engine") {
            bail!("this build of the worker has no engine (--samplers): `served` is valid, with --vllm URL");
        }
        let served = self.kinds();
        let Some(kind) = kinds.iter().find(|kind| !served.contains(kind)) else {
            return Ok(());
        };
        let names: Vec<&str> = served.iter().map(|kind| kind.name()).collect();
        let with_servers = match SAMPLED.contains(kind) {
            true => ", and with a server (--vllm URL) rollout and benchmark",
            false => "",
        };
        bail!(
            "this build of the worker cannot serve kind {kind}; it can serve: {}{with_servers}",
            names.join(", ")
        )
    }
}
