//! The product's handlers, for tests that cover engine and verifier.

use anyhow::Result;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::{
    engine::{Engine, ModelsFolder},
    handler::Handlers,
    handlers::{BenchmarkHandler, EvolveHandler, RolloutHandler, Rows, UpdateHandler, VerifyHandler},
};
use std::path::Path;

/// Handlers of all kinds, with base models from `models` and on the CPU; `rows` are for benchmarks.
///
/// # Errors
/// Sandbox or engine cannot be started here.
pub fn handlers(models: &Path, rows: Rows) -> Result<Handlers> {
    let pool = VerifierConfig::default();
    let jobs = pool.jobs;
    let verifier = Verifier::start(&pool)?;
    let models = ModelsFolder::resolve(Some(models));
    let engine = Engine::start(models.clone(), "cpu")?;
    Ok(Handlers::default()
        .with(VerifyHandler::new(verifier, jobs))
        .with(RolloutHandler::new(engine.clone()))
        .with(BenchmarkHandler::new(engine.clone(), rows))
        .with(UpdateHandler::new(engine))
        .with(EvolveHandler::new(models)))
}
