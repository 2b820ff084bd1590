//! The options of commands that run items, and the handlers they describe.

use anyhow::{Context as _, bail};
use clap::Args;
#[cfg(feature = "engine")]
use lyceum_core::work::Dtype;
use lyceum_core::work::WorkKind;
#[cfg(feature = "engine")]
use lyceum_engine::Placement;
use lyceum_verifier::Verifier;
#[cfg(feature = "engine")]
use lyceum_worker::engine::{Engine, ModelsFolder};
use lyceum_worker::handler::Handlers;
#[cfg(feature = "engine")]
use lyceum_worker::handlers::{BenchmarkHandler, EvolveHandler, RolloutHandler, UpdateHandler};
use lyceum_worker::handlers::{Rows, VerifyHandler};
use lyceum_worker::pool::PoolArgs;

/// The kinds that this build serves.
#[cfg(feature = "engine")]
pub(crate) const SERVED: [WorkKind; 5] = WorkKind::ALL;
#[cfg(not(feature = "engine"))]
pub(crate) const SERVED: [WorkKind; 1] = [WorkKind::Verify];

/// Options of commands that run items.
#[derive(Debug, Args)]
pub(crate) struct HandlerArgs {
    /// Folder with the base models that configs name by folder [default: models here or above].
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_MODELS", value_name = "DIR")]
    models: Option<std::path::PathBuf>,
    /// Device: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[cfg(feature = "engine")]
    #[arg(long, env = "LYCEUM_DEVICE", value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: String,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
}

impl HandlerArgs {
    /// The handlers of `kinds`; `rows` are for benchmarks. Blocks while the sandbox and the engine start.
    #[cfg_attr(
        not(feature = "engine"),
        allow(unused_variables, reason = "verification reads no rows")
    )]
    pub(crate) fn start(&self, kinds: &[WorkKind], rows: &Rows) -> anyhow::Result<Handlers> {
        if let Some(kind) = kinds.iter().find(|kind| !SERVED.contains(kind)) {
            let served = SERVED.map(WorkKind::name).join(", ");
            bail!("this build of the worker cannot serve kind {kind}; it can serve: {served}");
        }
        let mut handlers = Handlers::default();
        if kinds.contains(&WorkKind::Verify) {
            let pool = self.pool.config();
            let jobs = pool.jobs;
            let verifier = Verifier::start(&pool).context("the sandbox of `verify` cannot be used")?;
            handlers = handlers.with(VerifyHandler::new(verifier, jobs));
        }
        #[cfg(feature = "engine")]
        if kinds.iter().any(|kind| *kind != WorkKind::Verify) {
            // Fail on a wrong device now, not at the first item.
            Placement::new(&self.device, Dtype::Fp32)?;
            let models = ModelsFolder::resolve(self.models.as_deref());
            let engine =
                Engine::start(models.clone(), &self.device).context("the engine's thread cannot be started")?;
            for kind in kinds {
                handlers = match kind {
                    WorkKind::Rollout => handlers.with(RolloutHandler::new(engine.clone())),
                    WorkKind::Update => handlers.with(UpdateHandler::new(engine.clone())),
                    WorkKind::Evolve => handlers.with(EvolveHandler::new(models.clone())),
                    WorkKind::Benchmark => handlers.with(BenchmarkHandler::new(engine.clone(), rows.clone())),
                    WorkKind::Verify => handlers,
                };
            }
        }
        Ok(handlers)
    }
}
