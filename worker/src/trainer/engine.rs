//! The engine as a trainer.

use std::path::PathBuf;
use std::time::Instant;

use lyceum_core::work::{KlReference, Loss, MemberUpdate, MemberUpdated, Piece, Trainer, UpdateResult};
use lyceum_engine::Population;
use lyceum_engine::learn::{
    GradientPiece, OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions, Updated,
};
use lyceum_engine::peft::{member_files, read_population};

use super::{Learned, Lesson, References, Written};
use crate::adapter::{OPTIMIZER, Version, disk};
use crate::engine::{Job, Loaded, Models, fault};
use crate::handler::HandlerError;

/// Trains on the engine's thread.
pub(super) fn learn(lesson: Lesson, models: &mut Models, job: &Job) -> Result<Learned, HandlerError> {
    let start = Instant::now();
    job.progress(0.0, "loading");
    let payload = &lesson.payload;
    let loaded = models.load(&payload.base_model, payload.compute)?;
    let laid_out = lesson
        .starts
        .iter()
        .map(Version::lay_out)
        .collect::<Result<Vec<_>, _>>()?;
    let folders: Vec<PathBuf> = laid_out.iter().map(|folder| folder.path().to_owned()).collect();
    let device = loaded.model.placement.device;
    let population = read_population(&folders, &loaded.model.config, device).map_err(fault)?;
    let trained = TrainedTensor::of_population(&population);
    let states = lesson.starts.iter().zip(&folders);
    let states = states.map(|(start, folder)| start.optimizer().map(|_| folder.clone()));
    let state = OptimizerState::read(&states.collect::<Vec<_>>(), &trained).map_err(fault)?;
    let references = lesson.references.as_ref();
    let versions = references.map(|named| stack(named, loaded, &payload.loss));
    let versions = versions.transpose()?;
    let options = UpdateOptions {
        loss: payload.loss.clone(),
        optimizer: payload.optimizer.clone(),
        micro_batch_tokens: payload.micro_batch_tokens as usize,
        recompute: payload.recompute,
        ..UpdateOptions::default()
    };
    let update = Update {
        model: &loaded.model,
        options: &options,
        reference: versions.as_ref(),
    };
    let sequences = payload.members.iter().map(|member| sequences(&lesson, member));
    let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
    let mut progress = |at: lyceum_engine::learn::Progress| {
        job.progress(at.done as f32 / at.total.max(1) as f32, "learning");
    };
    let updated = match &payload.piece {
        None => update
            .run(&population, &state, &sequences, &mut progress)
            .map_err(fault)?,
        Some(Piece::Gradient { index, of }) => {
            let piece = update.gradient_piece(&population, &sequences, *index as usize, *of as usize, &mut progress);
            let piece = piece.map_err(fault)?;
            let result = UpdateResult {
                halvings: piece.halvings,
                seconds: start.elapsed().as_secs_f64(),
                ..UpdateResult::default()
            };
            return Ok(Learned::Gradient(piece_bytes(&piece)?, result));
        }
        Some(Piece::Apply { .. }) => {
            let pieces = lesson.gradients.iter().map(|bytes| read_piece(bytes, &trained));
            let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
            update.apply(&population, &state, &pieces).map_err(fault)?
        }
    };
    let written = write(&updated, &payload.base_model.name)?;
    let members = payload.members.iter().zip(&updated.diagnostics);
    let result = UpdateResult {
        members: members
            .map(|(member, diagnostics)| MemberUpdated {
                member: member.member,
                version: member.from,
                diagnostics: *diagnostics,
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
        let folder = tempfile::tempdir().map_err(disk)?;
        updated.state.write_member(member, folder.path()).map_err(fault)?;
        let files = member_files(&updated.population, member, base).map_err(fault)?;
        Ok(Written {
            weights: files.to_archive().map_err(fault)?,
            optimizer: std::fs::read(folder.path().join(OPTIMIZER)).map_err(disk)?,
        })
    });
    written.collect()
}

/// Each member's own reference, or the one that the loss names.
fn stack(references: &References, loaded: &Loaded, loss: &Loss) -> Result<Population, HandlerError> {
    let stacked = loaded.stack(&references.versions)?;
    if loss.kl_reference() == Some(KlReference::Start) {
        return Ok(stacked);
    }
    stacked.without_adapters_of(&references.unnamed).map_err(fault)
}

fn piece_bytes(piece: &GradientPiece) -> Result<Vec<u8>, HandlerError> {
    let file = tempfile::NamedTempFile::new().map_err(disk)?;
    piece.write(file.path()).map_err(fault)?;
    std::fs::read(file.path()).map_err(disk)
}

fn read_piece(bytes: &[u8], trained: &[TrainedTensor]) -> Result<GradientPiece, HandlerError> {
    let file = tempfile::NamedTempFile::new().map_err(disk)?;
    std::fs::write(file.path(), bytes).map_err(disk)?;
    GradientPiece::read(file.path(), trained).map_err(fault)
}
