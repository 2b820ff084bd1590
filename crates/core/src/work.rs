//! One item of a step: a worker's task and its result.

mod artifacts;
mod benchmark;
mod compute;
mod evolve;
mod geometry;
mod key;
mod kind;
mod limits;
mod lora;
mod loss;
mod observer;
mod projection;
mod requirements;
mod rollout;
mod update;
mod version;

pub use benchmark::{BenchmarkPayload, BenchmarkResult, BenchmarkSample};
pub use compute::{Compute, Device, Dtype, Sampler, Trainer};
pub use evolve::{EvolvePayload, EvolveResult};
pub use geometry::{Geometry, MemberGeometry, PairGeometry, VersionGeometry};
pub use key::{NotAPhase, WorkKey};
pub use kind::{WorkKind, WrongKind};
pub use limits::ProgramLimits;
pub use lora::{LoraShape, LoraShapeError};
pub use loss::Loss;
pub use observer::Observer;
pub use projection::Projection;
pub use requirements::Requirements;
pub use rollout::{
    Completion, Diversity, DiversityRequest, Embedded, EmbeddingBatch, FinishReason, Generated, MAX_TEMPERATURE,
    Message, Prompt, RolloutPayload, RolloutRequest, RolloutResult, RolloutUsage, Sampling, TokenDifference,
    VocabularyMask,
};
pub use update::{
    KlReference, LossAggregation, MemberDiagnostics, MemberUpdate, MemberUpdated, OldPolicy, Optimizer, Piece,
    PolicyLoss, SequenceRef, UpdatePayload, UpdateResult,
};
pub use version::{AdapterRef, BaseModel};

use serde::{Deserialize, Serialize};

use crate::verify::{Task, Verdict};

/// The work of an item, by kind. The arithmetic depends on nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Generate, or embed.
    Rollout(RolloutPayload),
    /// Judge in the sandbox.
    Verify(VerifyPayload),
    /// Learn.
    Update(UpdatePayload),
    /// Make an adapter from others.
    Evolve(EvolvePayload),
    /// Measure a version on a slice of a suite.
    Benchmark(BenchmarkPayload),
}

impl Payload {
    /// The base model it requires; `None` for the sandbox.
    pub fn base_model(&self) -> Option<&BaseModel> {
        match self {
            Self::Rollout(payload) => Some(&payload.base_model),
            Self::Update(payload) => Some(&payload.base_model),
            Self::Evolve(payload) => Some(&payload.base_model),
            Self::Benchmark(payload) => Some(&payload.base_model),
            Self::Verify(_) => None,
        }
    }

    /// What generates its tokens; the engine if there are none.
    pub fn sampler(&self) -> Sampler {
        match self {
            Self::Rollout(payload) => payload.sampler(),
            Self::Benchmark(payload) => payload.compute.sampler,
            Self::Update(_) | Self::Evolve(_) | Self::Verify(_) => Sampler::Engine,
        }
    }

    /// What takes its optimizer steps; the engine if it is no update.
    pub fn trainer(&self) -> Trainer {
        match self {
            Self::Update(payload) => payload.compute.trainer,
            Self::Rollout(_) | Self::Evolve(_) | Self::Benchmark(_) | Self::Verify(_) => Trainer::Engine,
        }
    }
}

/// A worker's result for an item, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "there is one for each item of work")]
pub enum Outcome {
    /// Completions or embeddings.
    Rollout(RolloutResult),
    /// Verdicts.
    Verify(VerifyResult),
    /// New versions or a piece of a gradient.
    Update(UpdateResult),
    /// A child.
    Evolve(EvolveResult),
    /// Samples of a suite.
    Benchmark(BenchmarkResult),
}

impl Outcome {
    /// Whether the same item gives the same bits again: not if a batch was halved because memory ran out, not if a server
    /// generated its tokens, and not if a group of processes learned from them.
    pub fn is_reproducible(&self) -> bool {
        let usage = match self {
            Self::Rollout(result) => &result.usage,
            Self::Benchmark(result) => &result.usage,
            Self::Update(result) => return result.halvings == 0 && result.trainer.is_engine(),
            Self::Verify(_) | Self::Evolve(_) => return true,
        };
        usage.halvings == 0 && usage.sampler.is_engine()
    }
}

/// The kind of each payload and outcome, and conversions to and from the enums.
macro_rules! kinds {
    ($($kind:ident: $payload:ty => $outcome:ty,)*) => {
        impl Payload {
            /// Its kind of work.
            pub fn kind(&self) -> WorkKind {
                match self {
                    $(Self::$kind(_) => WorkKind::$kind,)*
                }
            }
        }

        impl Outcome {
            /// The kind of work it is a result of.
            pub fn kind(&self) -> WorkKind {
                match self {
                    $(Self::$kind(_) => WorkKind::$kind,)*
                }
            }
        }

        $(
            impl From<$payload> for Payload {
                fn from(payload: $payload) -> Self {
                    Self::$kind(payload)
                }
            }

            impl TryFrom<Payload> for $payload {
                type Error = WrongKind;

                fn try_from(payload: Payload) -> Result<Self, WrongKind> {
                    match payload {
                        Payload::$kind(payload) => Ok(payload),
                        other => Err(WrongKind { expected: WorkKind::$kind, found: other.kind() }),
                    }
                }
            }

            impl From<$outcome> for Outcome {
                fn from(outcome: $outcome) -> Self {
                    Self::$kind(outcome)
                }
            }

            impl<'a> TryFrom<&'a Outcome> for &'a $outcome {
                type Error = WrongKind;

                fn try_from(outcome: &'a Outcome) -> Result<Self, WrongKind> {
                    match outcome {
                        Outcome::$kind(outcome) => Ok(outcome),
                        other => Err(WrongKind { expected: WorkKind::$kind, found: other.kind() }),
                    }
                }
            }
        )*
    };
}

kinds! {
    Rollout: RolloutPayload => RolloutResult,
    Verify: VerifyPayload => VerifyResult,
    Update: UpdatePayload => UpdateResult,
    Evolve: EvolvePayload => EvolveResult,
    Benchmark: BenchmarkPayload => BenchmarkResult,
}

/// Tasks for the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyPayload {
    /// The tasks, judged in any order.
    pub tasks: Vec<Task>,
    /// Limits of their programs.
    #[serde(default, skip_serializing_if = "ProgramLimits::is_default")]
    pub limits: ProgramLimits,
}

/// The sandbox's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// One verdict per task, in the order of the tasks.
    pub verdicts: Vec<Verdict>,
}
