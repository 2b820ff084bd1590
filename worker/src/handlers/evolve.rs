//! `evolve`: applies an operator to the parents' adapters to make a child's.

use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::evolution::INIT;
use lyceum_core::work::{AdapterRef, EvolvePayload, EvolveResult, WorkKind};
use lyceum_engine::evolve::{Birth, Parent, init};
use lyceum_engine::peft::AdapterFiles;
use lyceum_engine::{EngineError, ModelConfig};

use crate::ModelsFolder;
use crate::adapter::Version;
use crate::engine::fault;
use crate::handler::{Context, Handler, HandlerError};

/// Creates fresh adapters, and children of adapters.
pub struct EvolveHandler {
    models: ModelsFolder,
}

impl EvolveHandler {
    /// Finds bases by name in `models`. Only a fresh adapter needs its base, and only the dimensions.
    pub fn new(models: ModelsFolder) -> Self {
        Self { models }
    }
}

impl Handler for EvolveHandler {
    const KIND: WorkKind = WorkKind::Evolve;
    type Payload = EvolvePayload;
    type Outcome = EvolveResult;

    async fn run(self: Arc<Self>, payload: EvolvePayload, context: Context) -> Result<EvolveResult, HandlerError> {
        let started = Instant::now();
        let mut parents = Vec::with_capacity(payload.parents.len());
        for parent in &payload.parents {
            parents.push(Version::read(&context, *parent, false).await?);
        }
        let version = payload.to;
        let made = tokio::task::spawn_blocking(move || self.make(&payload, parents)).await;
        let (archive, notes) = made
            .map_err(|lost| HandlerError::Transient(lost.to_string()))?
            .map_err(fault)?;
        let artifact = context.put(ArtifactKind::Adapter, archive).await?;
        Ok(EvolveResult {
            version: AdapterRef {
                version,
                artifact,
                optimizer: None,
            },
            notes,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

impl EvolveHandler {
    fn make(&self, evolve: &EvolvePayload, parents: Vec<Version>) -> Result<(Vec<u8>, Vec<String>), EngineError> {
        let shape = evolve.lora.checked()?;
        if evolve.operator == INIT {
            if !parents.is_empty() || !evolve.parameters.is_empty() {
                let reason = format!(
                    "operator {INIT} takes no parents and has no parameters; {} and {} were given",
                    parents.len(),
                    evolve.parameters.len()
                );
                return Err(EngineError::Population(reason));
            }
            let base = ModelConfig::from_folder(&self.models.locate(&evolve.base_model)?)?;
            let files = init(&base, &evolve.base_model.name, shape, evolve.seed)?;
            return Ok((files.to_archive()?, Vec::new()));
        }
        let mut opened = Vec::with_capacity(parents.len());
        for parent in &parents {
            let name = format!("adapter version {}", parent.adapter.version);
            let parent = Parent::from_files(&name, AdapterFiles::read(parent.folder())?)?;
            parent.check_shape(&shape)?;
            opened.push(parent);
        }
        let birth = Birth::new(&evolve.operator, &evolve.parameters, opened, evolve.seed)?;
        let (files, notes) = birth.make_files()?;
        // Drop the parents before building the child's archive.
        drop(birth);
        Ok((files.to_archive()?, notes))
    }
}
