//! One item of a step: a worker's task and its result.

mod benchmark;
mod compute;
mod evolve;
mod lora;
mod observer;
mod requirements;
mod rollout;
mod update;
mod version;

pub use self::benchmark::{BenchmarkPayload, BenchmarkResult, BenchmarkSample};
pub use self::compute::{Compute, Device, Dtype, Kernels, ProgramLimits, Sampler, Trainer};
pub use self::evolve::{EvolvePayload, EvolveResult, Geometry, MemberGeometry, PairGeometry, VersionGeometry};
pub use self::lora::{LoraShape, LoraShapeError, Projection};
pub use self::observer::Observer;
pub use self::requirements::Requirements;
pub use self::rollout::{
    Completion, Diversity, DiversityRequest, Embedded, EmbeddingBatch, FinishReason, Generated, MAX_TEMPERATURE,
    Message, Prompt, RolloutPayload, RolloutRequest, RolloutResult, RolloutUsage, Sampling, TokenDifference,
    VocabularyMask,
};
pub use self::update::{
    KlReference, Loss, LossAggregation, MemberDiagnostics, MemberUpdate, MemberUpdated, OldPolicy, Optimizer, Piece,
    PolicyLoss, SequenceRef, UpdatePayload, UpdateResult,
};
pub use self::version::{AdapterRef, BaseModel};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

use crate::artifact::Digest;
use crate::verify::{Check, Task, Verdict};

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
            pub fn kind(&self) -> WorkKind {
                match self {
                    $(Self::$kind(_) => WorkKind::$kind,)*
                }
            }
        }

        impl Outcome {
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
    #[serde(default, skip_serializing_if = "ProgramLimits::is_default")]
    pub limits: ProgramLimits,
    /// The files of rewards that tasks name, by digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rewards: BTreeMap<Digest, String>,
}

impl VerifyPayload {
    /// Tasks with their limits; the file of a reward is kept once.
    pub fn new(mut tasks: Vec<Task>, limits: ProgramLimits) -> Self {
        let mut rewards = BTreeMap::new();
        for task in &mut tasks {
            if let Check::Reward(reward) = &mut task.check
                && let Some(source) = reward.source.take()
            {
                rewards.insert(reward.file, source);
            }
        }
        Self { tasks, limits, rewards }
    }

    /// The tasks, each with its files.
    pub fn into_tasks(self) -> impl Iterator<Item = Task> {
        self.tasks.into_iter().map(move |mut task| {
            if let Check::Reward(reward) = &mut task.check {
                reward.source = self.rewards.get(&reward.file).cloned();
            }
            task
        })
    }
}

/// The sandbox's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// One verdict per task, in the order of the tasks.
    pub verdicts: Vec<Verdict>,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkKind {
    /// Generates with adapters, or embeds text.
    Rollout,
    /// Judges untrusted Python and answers in the sandbox. Needs neither libtorch nor a GPU.
    Verify,
    /// Learns: new adapter versions from scored sequences.
    Update,
    /// Makes a child in weight space.
    Evolve,
    /// Measures a frozen version.
    Benchmark,
}

crate::named!(WorkKind, "a kind of work");

/// A payload or outcome of another kind than the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kind {found} instead of {expected}")]
pub struct WrongKind {
    pub expected: WorkKind,
    pub found: WorkKind,
}

/// The path of an item below its run: step / phase / round / chunk. It is the item's identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkKey {
    /// The run's unit of progress, from 0.
    pub step: u32,
    /// The part of the step, such as `propose`; named by the recipe with at most 63 of `a-z`, `0-9`, `_` and `-`.
    pub phase: String,
    /// The repetition of the phase, from 0 (rejection sampling goes in rounds).
    pub round: u32,
    /// The part of the round, from 0.
    pub chunk: u32,
}

/// The phase name is not safe in a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid phase name: use 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-`")]
pub struct NotAPhase(String);

impl WorkKey {
    /// The first chunk of the first round of `phase`.
    pub fn new(step: u32, phase: impl Into<String>) -> Self {
        Self { step, phase: phase.into(), round: 0, chunk: 0 }
    }

    /// The same key in another round.
    pub fn round(self, round: u32) -> Self {
        Self { round, ..self }
    }

    /// The same key in another chunk.
    pub fn chunk(self, chunk: u32) -> Self {
        Self { chunk, ..self }
    }

    /// Refuses a phase name that could be mistaken for a path.
    pub fn check(&self) -> Result<(), NotAPhase> {
        let letters = self.phase.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        if letters && (1..=63).contains(&self.phase.len()) { Ok(()) } else { Err(NotAPhase(self.phase.clone())) }
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.step, self.phase, self.round, self.chunk)
    }
}
