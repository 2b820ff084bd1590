//! `evolve`: applies an operator to the parents' adapters to make a child's.

use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::evolution::INIT;
use lyceum_core::id::VersionId;
use lyceum_core::work::{AdapterRef, EvolvePayload, EvolveResult, Geometry, WorkKind};
use lyceum_engine::evolve::{Birth, Parent, geometry, init};
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
        let mut measured = Vec::with_capacity(payload.measured.len());
        for version in &payload.measured {
            measured.push(Version::read(&context, *version, false).await?);
        }
        let version = payload.to;
        let made = tokio::task::spawn_blocking(move || {
            let (files, notes) = self.make(&payload, &parents)?;
            let archive = files.to_archive()?;
            Ok::<_, EngineError>((archive, notes, measure(version, files, &measured)?))
        });
        let (archive, notes, geometry) =
            made.await.map_err(|lost| HandlerError::Transient(lost.to_string()))?.map_err(fault)?;
        let artifact = context.put(ArtifactKind::Adapter, archive).await?;
        Ok(EvolveResult {
            version: AdapterRef { version, artifact, optimizer: None },
            notes,
            geometry,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

impl EvolveHandler {
    fn make(&self, evolve: &EvolvePayload, parents: &[Version]) -> Result<(AdapterFiles, Vec<String>), EngineError> {
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
            return Ok((files, Vec::new()));
        }
        let mut opened = Vec::with_capacity(parents.len());
        for parent in parents {
            let name = format!("adapter version {}", parent.adapter.version);
            let parent = Parent::from_files(&name, AdapterFiles::read(parent.folder())?)?;
            parent.check_shape(&shape)?;
            opened.push(parent);
        }
        let birth = Birth::new(&evolve.operator, &evolve.parameters, opened, evolve.seed)?;
        birth.make_files()
    }
}

/// The geometry of a child with other versions; `None` if there are none.
fn measure(child: VersionId, files: AdapterFiles, others: &[Version]) -> Result<Option<Geometry>, EngineError> {
    if others.is_empty() {
        return Ok(None);
    }
    let mut adapters = vec![(child, Parent::from_files("the child", files)?)];
    for other in others {
        adapters.push((other.adapter.version, Parent::open(other.folder())?));
    }
    geometry(&adapters).map(Some)
}
