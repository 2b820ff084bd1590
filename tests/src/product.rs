//! The product's handlers, for tests that cover engine and verifier.

use anyhow::Result;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::{
    engine::{Engine, ModelsFolder},
    handler::Handler,
    handlers::{EvolveHandler, RolloutHandler, UpdateHandler, VerifyHandler},
};
use std::{path::Path, sync::Arc};

/// Handlers of all kinds, with base models from `models` and on the CPU.
///
/// # Errors
/// Sandbox or engine cannot be started here.
pub fn handlers(models: &Path) -> Result<Vec<Arc<dyn Handler>>> {
    let pool = VerifierConfig::default();
    let jobs = pool.jobs;
    let verifier = Verifier::start(&pool)?;
    let models = ModelsFolder::resolve(Some(models));
    let engine = Engine::start(models.clone(), "cpu")?;
    Ok(vec![
        Arc::new(VerifyHandler::new(verifier, jobs)),
        Arc::new(RolloutHandler::new(engine.clone())),
        Arc::new(UpdateHandler::new(engine)),
        Arc::new(EvolveHandler::new(models)),
    ])
}
