//! `update`: trains members of a population in one batch.

use std::collections::{HashMap, hash_map::Entry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::work::{
    AdapterRef, Dtype, KlReference, Loss, MemberUpdate, MemberUpdated, Piece, Sampler, UpdatePayload, UpdateResult,
    WorkKind,
};
use lyceum_engine::Population;
use lyceum_engine::learn::{
    GradientPiece, OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions, Updated,
};
use lyceum_engine::peft::{member_files, read_population};
use lyceum_models::token_batch::TokenBatch;

use crate::engine::{Engine, Job, Loaded, Models, OPTIMIZER, Version, disk, fault};
use crate::handler::{Context, Handler, HandlerError};

/// The largest mean difference between a server's log-probabilities and the engine's that rounding explains, in nats. The
/// seedling's differ by less than 1e-3 in fp32; bf16 has three digits, and servers order their sums in other ways.
const MISMATCH_FP32: f64 = 0.02;
const MISMATCH_BF16: f64 = 0.2;

/// Trains on the engine's thread.
pub struct UpdateHandler {
    engine: Engine,
}

/// All inputs of a payload.
struct Inputs {
    payload: UpdatePayload,
    starts: Vec<Version>,
    references: Option<References>,
    batches: HashMap<Digest, TokenBatch>,
    gradients: Vec<Vec<u8>>,
}

/// The KL references of an update in which at least one member names its own.
struct References {
    /// One per member; the version it starts from where it names none.
    versions: Vec<Version>,
    /// Indices of the members that name none.
    unnamed: Vec<usize>,
}

/// The result of an item before its artifacts are stored.
enum Learned {
    Members(Vec<Written>, UpdateResult),
    Gradient(Vec<u8>, UpdateResult),
}

/// A member's new files.
struct Written {
    weights: Vec<u8>,
    optimizer: Vec<u8>,
}

impl UpdateHandler {
    /// Trains with `engine`.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

impl Handler for UpdateHandler {
    const KIND: WorkKind = WorkKind::Update;
    type Payload = UpdatePayload;
    type Outcome = UpdateResult;

    async fn run(self: Arc<Self>, payload: UpdatePayload, context: Context) -> Result<UpdateResult, HandlerError> {
        let versions: Vec<_> = payload.members.iter().map(|member| member.to).collect();
        let inputs = Inputs::read(payload, &context).await?;
        let learned = self.engine.run(&context, move |models, job| inputs.learn(models, job));
        match learned.await? {
            Learned::Gradient(bytes, mut result) => {
                result.gradient = Some(context.put(ArtifactKind::Gradient, bytes).await?);
                Ok(result)
            }
            Learned::Members(written, mut result) => {
                for ((version, files), updated) in versions.into_iter().zip(written).zip(&mut result.members) {
                    updated.version = AdapterRef {
                        version,
                        artifact: context.put(ArtifactKind::Adapter, files.weights).await?,
                        optimizer: Some(context.put(ArtifactKind::Optimizer, files.optimizer).await?),
                    };
                }
                Ok(result)
            }
        }
    }

    fn loaded_models(&self) -> Vec<String> {
        self.engine.loaded_models()
    }
}

impl Inputs {
    async fn read(payload: UpdatePayload, context: &Context) -> Result<Self, HandlerError> {
        let mut starts = Vec::new();
        let mut batches = HashMap::new();
        for member in &payload.members {
            starts.push(Version::read(context, member.from, true).await?);
            for sequence in &member.sequences {
                if let Entry::Vacant(vacant) = batches.entry(sequence.tokens) {
                    let bytes = context.get(sequence.tokens).await?;
                    vacant.insert(TokenBatch::from_bytes(&bytes).map_err(fault)?);
                }
            }
        }
        let mut gradients = Vec::new();
        if let Some(Piece::Apply { gradients: digests }) = &payload.piece {
            for digest in digests {
                gradients.push(context.get(*digest).await?);
            }
        }
        Ok(Self {
            references: References::read(&payload, context).await?,
            payload,
            starts,
            batches,
            gradients,
        })
    }

    fn learn(self, models: &mut Models, job: &Job) -> Result<Learned, HandlerError> {
        let start = Instant::now();
        job.progress(0.0, "loading");
        let loaded = models.load(&self.payload.base_model, self.payload.compute)?;
        let laid_out = self
            .starts
            .iter()
            .map(Version::lay_out)
            .collect::<Result<Vec<_>, _>>()?;
        let folders: Vec<PathBuf> = laid_out.iter().map(|folder| folder.path().to_owned()).collect();
        let device = loaded.model.placement.device;
        let population = read_population(&folders, &loaded.model.config, device).map_err(fault)?;
        let trained = TrainedTensor::of_population(&population);
        let states = self.starts.iter().zip(&folders);
        let states = states.map(|(start, folder)| start.has_optimizer().then(|| folder.clone()));
        let state = OptimizerState::read(&states.collect::<Vec<_>>(), &trained).map_err(fault)?;
        let references = self.references.as_ref();
        let versions = references.map(|named| named.stack(loaded, &self.payload.loss));
        let versions = versions.transpose()?;
        let options = UpdateOptions {
            loss: self.payload.loss.clone(),
            optimizer: self.payload.optimizer.clone(),
            micro_batch_tokens: self.payload.micro_batch_tokens as usize,
            recompute: self.payload.recompute,
            ..UpdateOptions::default()
        };
        let update = Update {
            model: &loaded.model,
            options: &options,
            reference: versions.as_ref(),
        };
        let sequences = self.payload.members.iter().map(|member| self.sequences(member));
        let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
        let mut progress = |at: lyceum_engine::learn::Progress| {
            job.progress(at.done as f32 / at.total.max(1) as f32, "learning");
        };
        let updated = match &self.payload.piece {
            None => update
                .run(&population, &state, &sequences, &mut progress)
                .map_err(fault)?,
            Some(Piece::Gradient { index, of }) => {
                let piece =
                    update.gradient_piece(&population, &sequences, *index as usize, *of as usize, &mut progress);
                let piece = piece.map_err(fault)?;
                let result = UpdateResult {
                    halvings: piece.halvings,
                    seconds: start.elapsed().as_secs_f64(),
                    ..UpdateResult::default()
                };
                return Ok(Learned::Gradient(piece_bytes(&piece)?, result));
            }
            Some(Piece::Apply { .. }) => {
                let pieces = self.gradients.iter().map(|bytes| read_piece(bytes, &trained));
                let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
                update.apply(&population, &state, &pieces).map_err(fault)?
            }
        };
        self.check_sampler(&updated)?;
        let written = self.write(&updated)?;
        let members = self.payload.members.iter().zip(&updated.diagnostics);
        let result = UpdateResult {
            // The versions refer to their artifacts once these are stored.
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
        };
        Ok(Learned::Members(written, result))
    }

    /// Refuses tokens that a server cannot have drawn from the member's weights: an adapter that it ignored, or one of
    /// another member or another base.
    fn check_sampler(&self, updated: &Updated) -> Result<(), HandlerError> {
        let compute = self.payload.compute;
        let limit = match (compute.sampler, compute.dtype) {
            (Sampler::Engine, _) => return Ok(()),
            (Sampler::Served, Dtype::Fp32) => MISMATCH_FP32,
            (Sampler::Served, Dtype::Bf16) => MISMATCH_BF16,
        };
        for (member, diagnostics) in self.payload.members.iter().zip(&updated.diagnostics) {
            let mismatch = diagnostics.sampler_mismatch;
            if mismatch > limit {
                return Err(HandlerError::Permanent(format!(
                    "the tokens of member {} were not drawn from its version {}: their log-probabilities differ by {mismatch:.4} \
                     nats in the mean, and rounding explains {limit} at most. The server has another base model, serves it \
                     less precisely, or did not apply the adapter",
                    member.member, member.from.version
                )));
            }
        }
        Ok(())
    }

    fn sequences(&self, member: &MemberUpdate) -> Result<Vec<TrainingSequence>, HandlerError> {
        let sequences = member.sequences.iter().map(|sequence| {
            let missing = || {
                HandlerError::Permanent(format!(
                    "tokens {} have no sample {} of a request `{}`",
                    sequence.tokens, sequence.sample, sequence.request
                ))
            };
            let request = self.batches[&sequence.tokens]
                .request(&sequence.request)
                .ok_or_else(missing)?;
            let sample = request.samples.get(sequence.sample as usize).ok_or_else(missing)?;
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

    fn write(&self, updated: &Updated) -> Result<Vec<Written>, HandlerError> {
        let base = &self.payload.base_model.name;
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
}

impl References {
    /// `None` if no member names a reference, or the loss has no KL term.
    async fn read(payload: &UpdatePayload, context: &Context) -> Result<Option<Self>, HandlerError> {
        let is_named = payload.members.iter().any(|member| member.kl_reference.is_some());
        if !is_named || payload.loss.kl_reference().is_none() {
            return Ok(None);
        }
        let mut versions = Vec::new();
        let mut unnamed = Vec::new();
        for (place, member) in payload.members.iter().enumerate() {
            if member.kl_reference.is_none() {
                unnamed.push(place);
            }
            let reference = member.kl_reference.unwrap_or(member.from);
            versions.push(Version::read(context, reference, false).await?);
        }
        Ok(Some(Self { versions, unnamed }))
    }

    /// Each member's own reference, or the one that the loss names.
    fn stack(&self, loaded: &Loaded, loss: &Loss) -> Result<Population, HandlerError> {
        let stacked = loaded.stack(&self.versions)?;
        if loss.kl_reference() == Some(KlReference::Start) {
            return Ok(stacked);
        }
        stacked.without_adapters_of(&self.unnamed).map_err(fault)
    }
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
