//! The engine as a trainer.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lyceum_core::work::{
    KlReference, Loss, MemberGeometry, MemberUpdate, MemberUpdated, Piece, Trainer, UpdatePayload, UpdateResult,
};
use lyceum_engine::evolve::{Parent, geometry};
use lyceum_engine::learn::{
    GradientPiece, OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions, Updated,
};
use lyceum_engine::peft::{member_files, read_population};
use lyceum_engine::{EngineError, Population};

use super::{Learned, Lesson, References, Written};
use crate::adapter::disk;
use crate::engine::{Job, Loaded, Models, fault};
use crate::handler::HandlerError;
use crate::scratch::ScratchFile;

/// Trains on the engine's thread.
pub(super) fn learn(lesson: Lesson, models: &mut Models, job: &Job) -> Result<Learned, HandlerError> {
    let start = Instant::now();
    job.progress(0.0, "loading");
    let payload = &lesson.payload;
    let loaded = models.load(&payload.base_model, payload.compute)?;
    // What was generated with takes memory that the update needs.
    loaded.with_adapters(&[])?;
    let folders: Vec<PathBuf> = lesson.starts.iter().map(|start| start.folder().to_owned()).collect();
    let device = loaded.model.placement.device;
    let population = read_population(&folders, &loaded.model.config, device).map_err(fault)?;
    let trained = TrainedTensor::of_population(&population);
    let states = lesson.starts.iter().map(|start| start.optimizer().map(Path::to_owned));
    let state = OptimizerState::read(&states.collect::<Vec<_>>(), &trained).map_err(fault)?;
    let references = lesson.references.as_ref();
    let versions = references.map(|named| stack(named, loaded, &payload.loss)).transpose()?;
    let options = UpdateOptions {
        loss: payload.loss.clone(),
        optimizer: payload.optimizer.clone(),
        learning_rates: payload.members.iter().map(|member| member.learning_rate).collect(),
        micro_batch_tokens: payload.micro_batch_tokens as usize,
        recompute: payload.recompute,
        observes_base: payload.measure,
        ..UpdateOptions::default()
    };
    let update = Update { model: &loaded.model, options: &options, reference: versions.as_ref() };
    let sequences = payload.members.iter().map(|member| sequences(&lesson, member)).collect::<Result<Vec<_>, _>>()?;
    let mut progress = |at: lyceum_engine::learn::Progress| {
        job.progress(at.done as f32 / at.total.max(1) as f32, "learning");
    };
    let updated = match &payload.piece {
        None => update.run(&population, &state, &sequences, &mut progress).map_err(fault)?,
        Some(Piece::Gradient { index, of }) => {
            let piece = update.gradient_piece(&population, &sequences, *index as usize, *of as usize, &mut progress);
            let piece = piece.map_err(fault)?;
            let result = UpdateResult {
                halvings: piece.halvings,
                seconds: start.elapsed().as_secs_f64(),
                ..UpdateResult::default()
            };
            let file = ScratchFile::new().map_err(disk)?;
            piece.write(file.path()).map_err(fault)?;
            return Ok(Learned::Gradient(file, result));
        }
        Some(Piece::Apply { .. }) => {
            let pieces = lesson.gradients.iter().map(|file| GradientPiece::read(file.path(), &trained));
            let pieces = pieces.collect::<Result<Vec<_>, _>>().map_err(fault)?;
            update.apply(&population, &state, &pieces).map_err(fault)?
        }
    };
    let written = write(&updated, &payload.base_model.name)?;
    let mut measured = match payload.measure {
        true => measure(payload, &updated.population).map_err(fault)?,
        false => Vec::new(),
    }
    .into_iter();
    let members = payload.members.iter().zip(&updated.diagnostics);
    let result = UpdateResult {
        members: members
            .map(|(member, diagnostics)| MemberUpdated {
                member: member.member,
                version: member.from,
                diagnostics: *diagnostics,
                geometry: measured.next(),
            })
            .collect(),
        gradient: None,
        seconds: start.elapsed().as_secs_f64(),
        halvings: updated.halvings,
        trainer: Trainer::Engine,
    };
    Ok(Learned::Members(written, result))
}

fn sequences(lesson: &Lesson, member: &MemberUpdate) -> Result<Vec<TrainingSequence>, HandlerError> {
    let sequences = member.sequences.iter().map(|sequence| {
        let (request, sample) = lesson.tokens(sequence)?;
        Ok(TrainingSequence {
            id: format!("{}/{}", sequence.request, sequence.sample),
            prompt: request.prompt.clone(),
            completion: sample.ids.clone(),
            logprobs: sample.logprobs.clone(),
            advantage: sequence.advantage,
        })
    });
    sequences.collect()
}

fn write(updated: &Updated, base: &str) -> Result<Vec<Written>, HandlerError> {
    let written = (0..updated.population.members()).map(|member| {
        let written = Written::new().map_err(disk)?;
        updated.state.write_member(member, written.folder()).map_err(fault)?;
        let files = member_files(&updated.population, member, base).map_err(fault)?;
        let archive = BufWriter::new(File::create(written.weights()).map_err(disk)?);
        files.write_archive(archive).map_err(fault)?;
        Ok(written)
    });
    written.collect()
}

/// The geometry of the new versions, as they are stored.
fn measure(payload: &UpdatePayload, population: &Population) -> Result<Vec<MemberGeometry>, EngineError> {
    let members = payload.members.iter().enumerate();
    let adapters = members.map(|(place, member)| {
        let files = member_files(population, place, &payload.base_model.name)?;
        Ok((member.to, Parent::from_files("the new version", files)?))
    });
    let adapters = adapters.collect::<Result<Vec<_>, EngineError>>()?;
    Ok(geometry(&adapters)?.by_version().collect())
}

/// Each member's own reference, or the one that the loss names.
fn stack(references: &References, loaded: &Loaded, loss: &Loss) -> Result<Population, HandlerError> {
    let stacked = loaded.stack(&references.versions)?;
    if loss.kl_reference() == Some(KlReference::Start) {
        return Ok(stacked);
    }
    stacked.without_adapters_of(&references.unnamed).map_err(fault)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lyceum_core::artifact::ArtifactKind;
    use lyceum_core::id::{MemberId, VersionId, WorkId};
    use lyceum_core::work::{
        AdapterRef, BaseModel, Compute, Optimizer, PolicyLoss, SequenceRef, UpdatePayload, WorkKey,
    };
    use lyceum_models::ModelsFolder;
    use lyceum_models::peft::AdapterFiles;
    use lyceum_models::token_batch::{RequestTokens, SampleTokens, TokenBatch};
    use lyceum_store::artifact::ArtifactStore;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;
    use crate::adapter::Version;
    use crate::engine::Engine;
    use crate::handler::Context;

    fn fixtures() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
    }

    async fn lesson(store: &ArtifactStore, context: &Context) -> Lesson {
        let files = AdapterFiles::read(&fixtures().join("adapters/qwen2-tied/all-0")).unwrap();
        let from = AdapterRef {
            version: VersionId(Uuid::from_u128(1)),
            artifact: store.put(ArtifactKind::Adapter, files.to_archive().unwrap()).await.unwrap(),
            optimizer: None,
        };
        let sample = SampleTokens { ids: vec![4, 5], logprobs: vec![-5.0, -6.0], sampling_logprobs: Vec::new() };
        let batch = TokenBatch {
            requests: vec![RequestTokens { id: "a".to_owned(), prompt: vec![1, 2, 3], samples: vec![sample] }],
        };
        let tokens = store.put(ArtifactKind::Tokens, batch.to_bytes().unwrap()).await.unwrap();
        let payload = UpdatePayload {
            base_model: BaseModel { name: "qwen2-tied".to_owned(), revision: None },
            compute: Compute { threads: Some(1), ..Compute::default() },
            members: vec![MemberUpdate {
                member: MemberId(Uuid::nil()),
                from,
                to: VersionId(Uuid::from_u128(2)),
                kl_reference: None,
                learning_rate: None,
                masked_share: 0.0,
                sequences: vec![SequenceRef {
                    rollout: WorkId(Uuid::nil()),
                    tokens,
                    request: "a".to_owned(),
                    sample: 0,
                    advantage: 1.0,
                }],
            }],
            loss: Loss::PolicyGradient(PolicyLoss::default()),
            optimizer: Optimizer::default(),
            micro_batch_tokens: 64,
            recompute: true,
            piece: None,
            measure: true,
        };
        Lesson::read(Arc::new(payload), context).await.unwrap()
    }

    #[tokio::test]
    async fn an_update_drops_the_adapters_that_were_generated_with() {
        let store = ArtifactStore::in_memory();
        let context = Context::new(WorkKey::new(0, "update"), 1, store.clone().into(), CancellationToken::new());
        let lesson = lesson(&store, &context).await;
        let engine = Engine::start(ModelsFolder::resolve(Some(&fixtures().join("models"))), "cpu").unwrap();
        let held = engine.run(&context, move |models, job| {
            let (base, compute) = (lesson.payload.base_model.clone(), lesson.payload.compute);
            let starts: Vec<Version> = lesson.starts.clone();
            models.load(&base, compute)?.with_adapters(&starts)?;
            let before = models.load(&base, compute)?.population().is_some();
            learn(lesson, models, job)?;
            Ok((before, models.load(&base, compute)?.population().is_some()))
        });
        assert_eq!(held.await.unwrap(), (true, false));
    }
}
