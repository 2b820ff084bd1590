//! The product's handlers, for tests that cover engine and verifier.

use anyhow::Result;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::{
    engine::{Engine, ModelsFolder},
    handler::Handlers,
    handlers::{EvolveHandler, RolloutHandler, UpdateHandler, VerifyHandler},
};
use std::path::Path;

/// Handlers of all kinds, with base models from `models` and on the CPU.
///
/// # Errors
/// Sandbox or engine cannot be started here.
pub fn handlers(models: &Path) -> Result<Handlers> {
    let pool = VerifierConfig::default();
    let jobs = pool.jobs;
    let verifier = Verifier::start(&pool)?;
    let models = ModelsFolder::resolve(Some(models));
    let engine = Engine::start(models.clone(), "cpu")?;
    Ok(Handlers::default()
        .with(VerifyHandler::new(verifier, jobs))
        .with(RolloutHandler::new(engine.clone()))
        .with(UpdateHandler::new(engine))
        .with(EvolveHandler::new(models)))
}
