//! The options of commands that run items, and the handlers they describe.

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::{Sampler, Trainer, WorkKind};
#[cfg(feature = "engine")]
use lyceum_engine::Placement;
use lyceum_verifier::Verifier;
use lyceum_worker::ModelsFolder;
#[cfg(feature = "engine")]
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
#[cfg(feature = "engine")]
use lyceum_worker::handlers::EvolveHandler;
use lyceum_worker::handlers::{BenchmarkHandler, RolloutHandler, Rows, UpdateHandler, VerifyHandler};
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::sampler::Samplers;
use lyceum_worker::trainer::Trainers;

use super::served::ServedArgs;
use super::torchrun::TorchrunArgs;

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
    /// What may take the optimizer steps of updates here: engine, torchrun; separated by commas [default: the engine, and
    /// torchrun if --torchrun-python names an interpreter].
    #[arg(long, env = "LYCEUM_TRAINERS", value_name = "NAMES", value_delimiter = ',')]
    trainers: Vec<Trainer>,
    #[command(flatten)]
    torchrun: TorchrunArgs,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
}

impl HandlerArgs {
    /// The kinds of work that this worker can serve.
    pub(crate) fn kinds(&self) -> Vec<WorkKind> {
        let is_served = |kind: &WorkKind| match kind {
            WorkKind::Verify => true,
            WorkKind::Rollout | WorkKind::Benchmark => self.has(Sampler::Engine) || self.has(Sampler::Served),
            WorkKind::Update => self.trains(Trainer::Engine) || self.trains(Trainer::Torchrun),
            WorkKind::Evolve => cfg!(feature = "engine"),
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

    /// Whether `trainer` may take optimizer steps here.
    fn trains(&self, trainer: Trainer) -> bool {
        let is_there = match trainer {
            Trainer::Engine => cfg!(feature = "engine"),
            Trainer::Torchrun => self.torchrun.is_given(),
        };
        is_there && (self.trainers.is_empty() || self.trainers.contains(&trainer))
    }

    /// Whether items of one of `kinds` may run on the engine.
    #[cfg(feature = "engine")]
    pub(crate) fn uses_engine(&self, kinds: &[WorkKind]) -> bool {
        kinds.iter().any(|kind| match kind {
            WorkKind::Verify => false,
            WorkKind::Rollout | WorkKind::Benchmark => self.has(Sampler::Engine),
            WorkKind::Update => self.trains(Trainer::Engine),
            WorkKind::Evolve => true,
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
        let mut trainers = Trainers::default();
        if self.trains(Trainer::Torchrun) && kinds.contains(&WorkKind::Update) {
            trainers.torchrun = self.torchrun.start(models.clone(), self.group_device())?;
        }
        #[cfg(feature = "engine")]
        if self.uses_engine(kinds) {
            // Fail on a wrong device now, not at the first item.
            Placement::new(&self.device, Dtype::Fp32)?;
            let engine =
                Engine::start(models.clone(), &self.device).context("the engine's thread cannot be started")?;
            trainers.engine = Some(engine.clone()).filter(|_| self.trains(Trainer::Engine));
            if kinds.contains(&WorkKind::Evolve) {
                handlers = handlers.with(EvolveHandler::new(models));
            }
            samplers.engine = Some(engine).filter(|_| self.has(Sampler::Engine));
        }
        if kinds.contains(&WorkKind::Update) {
            handlers = handlers.with(UpdateHandler::new(trainers));
        }
        if kinds.contains(&WorkKind::Rollout) {
            handlers = handlers.with(RolloutHandler::new(samplers.clone()));
        }
        if kinds.contains(&WorkKind::Benchmark) {
            handlers = handlers.with(BenchmarkHandler::new(samplers, rows.clone()));
        }
        Ok(handlers)
    }

    /// The device of processes that torchrun starts.
    fn group_device(&self) -> &str {
        #[cfg(feature = "engine")]
        if self.device == "cpu" {
            return "cpu";
        }
        "auto"
    }

    fn check(&self, kinds: &[WorkKind]) -> anyhow::Result<()> {
        if self.samplers.contains(&Sampler::Served) && !self.served.is_given() {
            bail!("the sampler `served` (--samplers) needs a server: --vllm URL");
        }
        if self.samplers.contains(&Sampler::Engine) && !cfg!(feature = "engine") {
            bail!("this build of the worker has no engine (--samplers): `served` is valid, with --vllm URL");
        }
        if self.trainers.contains(&Trainer::Torchrun) && !self.torchrun.is_given() {
            bail!("the trainer `torchrun` (--trainers) needs an interpreter: --torchrun-python PYTHON");
        }
        if self.trainers.contains(&Trainer::Engine) && !cfg!(feature = "engine") {
            bail!(
                "this build of the worker has no engine (--trainers): `torchrun` is valid, with --torchrun-python PYTHON"
            );
        }
        let served = self.kinds();
        let Some(kind) = kinds.iter().find(|kind| !served.contains(kind)) else { return Ok(()) };
        let names: Vec<&str> = served.iter().map(|kind| kind.name()).collect();
        let more = match kind {
            kind if SAMPLED.contains(kind) => ", and with a server (--vllm URL) rollout and benchmark",
            WorkKind::Update => ", and with an interpreter (--torchrun-python PYTHON) update",
            _ => "",
        };
        bail!("this build of the worker cannot serve kind {kind}; it can serve: {}{more}", names.join(", "))
    }
}
