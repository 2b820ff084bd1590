//! `update`: trains members of a population in one batch.

use std::sync::Arc;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{AdapterRef, Dtype, Sampler, Trainer, UpdatePayload, UpdateResult, WorkKind};

use crate::handler::{Context, Handler, HandlerError};
use crate::trainer::{Learned, Lesson, Trainers};

/// The largest mean difference between a server's log-probabilities and the trainer's that rounding explains, in nats. The
/// seedling's differ by less than 1e-3 in fp32; bf16 has three digits, and servers order their sums in other ways.
const MISMATCH_FP32: f64 = 0.02;
const MISMATCH_BF16: f64 = 0.2;

/// Trains with the trainer that the payload names.
pub struct UpdateHandler {
    trainers: Trainers,
}

impl UpdateHandler {
    /// Trains with `trainers`.
    pub fn new(trainers: impl Into<Trainers>) -> Self {
        Self { trainers: trainers.into() }
    }
}

impl Handler for UpdateHandler {
    const KIND: WorkKind = WorkKind::Update;
    type Payload = UpdatePayload;
    type Outcome = UpdateResult;

    async fn run(self: Arc<Self>, payload: UpdatePayload, context: Context) -> Result<UpdateResult, HandlerError> {
        let payload = Arc::new(payload);
        let lesson = Lesson::read(Arc::clone(&payload), &context).await?;
        match self.trainers.train(lesson, &context).await? {
            Learned::Gradient(file, mut result) => {
                result.gradient = Some(context.put_file(ArtifactKind::Gradient, file.path()).await?);
                Ok(result)
            }
            Learned::Members(written, mut result) => {
                check_sampler(&payload, &result)?;
                for ((member, files), updated) in payload.members.iter().zip(written).zip(&mut result.members) {
                    updated.diagnostics.masked_share = member.masked_share;
                    updated.version = AdapterRef {
                        version: member.to,
                        artifact: context.put_file(ArtifactKind::Adapter, &files.weights()).await?,
                        optimizer: Some(context.put_file(ArtifactKind::Optimizer, &files.optimizer()).await?),
                    };
                }
                Ok(result)
            }
        }
    }

    fn trainers(&self) -> Vec<Trainer> {
        self.trainers.all()
    }

    fn loaded_models(&self) -> Vec<String> {
        self.trainers.loaded_models()
    }
}

/// Refuses tokens that a server cannot have drawn from the member's weights: an adapter that it ignored, or one of another
/// member or another base.
fn check_sampler(payload: &UpdatePayload, result: &UpdateResult) -> Result<(), HandlerError> {
    let compute = payload.compute;
    let limit = match (compute.sampler, compute.dtype) {
        (Sampler::Engine, _) => return Ok(()),
        (Sampler::Served, Dtype::Fp32) => MISMATCH_FP32,
        (Sampler::Served, Dtype::Bf16) => MISMATCH_BF16,
    };
    for (member, updated) in payload.members.iter().zip(&result.members) {
        let mismatch = updated.diagnostics.sampler_mismatch;
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
