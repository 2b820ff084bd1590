//! The product's handlers, for tests that cover engine and verifier.

use anyhow::Result;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::ModelsFolder;
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::{BenchmarkHandler, EvolveHandler, RolloutHandler, Rows, UpdateHandler, VerifyHandler};
use lyceum_worker::sampler::{Samplers, Served};
use std::path::Path;

/// Handlers of all kinds, with base models from `models` and on the CPU; `rows` are for benchmarks.
///
/// # Errors
/// Sandbox or engine cannot be started here.
pub fn handlers(models: &Path, rows: Rows) -> Result<Handlers> {
    handlers_with(models, rows, None)
}

/// The same, with servers for what they generate.
///
/// # Errors
/// Sandbox or engine cannot be started here.
pub fn handlers_with(models: &Path, rows: Rows, served: Option<Served>) -> Result<Handlers> {
    let pool = VerifierConfig::default();
    let jobs = pool.jobs;
    let verifier = Verifier::start(&pool)?;
    let models = ModelsFolder::resolve(Some(models));
    let engine = Engine::start(models.clone(), "cpu")?;
    let samplers = Samplers { engine: Some(engine.clone()), served };
    Ok(Handlers::default()
        .with(VerifyHandler::new(verifier, jobs))
        .with(RolloutHandler::new(samplers.clone()))
        .with(BenchmarkHandler::new(samplers, rows))
        .with(UpdateHandler::new(engine))
        .with(EvolveHandler::new(models)))
}
