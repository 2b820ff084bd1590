//! Learning.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

use super::{AdapterRef, BaseModel, Compute, Dtype, MemberGeometry, Sampler, Trainer};
use crate::artifact::Digest;
use crate::id::{MemberId, VersionId, WorkId};

/// One optimisation phase of any members of one population, computed in one batch over the shared base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdatePayload {
    /// The shared frozen base.
    pub base_model: BaseModel,
    #[serde(default)]
    pub compute: Compute,
    /// The members and their sequences.
    pub members: Vec<MemberUpdate>,
    /// The loss to minimise.
    pub loss: Loss,
    pub optimizer: Optimizer,
    /// Maximum tokens per micro-batch; a longer sequence is a micro-batch of its own.
    pub micro_batch_tokens: u32,
    /// Recompute each layer's activations in its backward pass, so that only one layer's are in memory at a time.
    #[serde(default = "yes")]
    pub recompute: bool,
    /// For an update split into pieces: compute and store this piece of the gradient, or sum the pieces and take the
    /// step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Piece>,
    /// Whether the geometry of the new versions is measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measure: bool,
}

fn yes() -> bool {
    true
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// One member's part in an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberUpdate {
    pub member: MemberId,
    /// The version it starts from.
    pub from: AdapterRef,
    /// The identifier of the new version.
    pub to: VersionId,
    /// The version this member is kept close to; replaces the loss's reference. It must have the shape of `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl_reference: Option<AdapterRef>,
    /// Its own learning rate; replaces the optimizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Share of the sequences it sampled that are left out because they were cut at the token limit; reported with its
    /// diagnostics.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked_share: f64,
    /// The sequences it learns from, in order.
    pub sequences: Vec<SequenceRef>,
}

/// One sampled sequence with its advantage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceRef {
    /// The rollout that sampled it.
    pub rollout: WorkId,
    /// The rollout's token artifact.
    pub tokens: Digest,
    /// The request within it.
    pub request: String,
    /// The index of the sample within the request.
    pub sample: u32,
    /// Its advantage, the same for each of its tokens; ignored by the cross-entropy.
    pub advantage: f32,
}

/// The clipped policy gradient (PPO, arXiv 1707.06347, Eq. 7, with the decoupled and dual clips of DAPO and of arXiv 1912.09729).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyLoss {
    /// The ratio is clipped below at 1 − this value.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub clip_low: f64,
    /// The ratio is clipped above at 1 + this value.
    #[schemars(range(min = 0.0))]
    pub clip_high: f64,
    /// For negative advantages, bounds the loss at this value times the advantage's magnitude; null for no bound.
    pub clip_dual: Option<f64>,
    /// The policy in the denominator of the ratio.
    pub old_policy: OldPolicy,
    /// Truncated importance sampling (with `old_policy = "trainer"`): a token's loss is multiplied by the ratio of the
    /// trainer's probability before the first step to the sampler's, at most this value; null for no such weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0))]
    pub importance_cap: Option<f64>,
    /// How the losses of tokens are averaged.
    pub aggregation: LossAggregation,
    /// With the aggregation `constant`: the number of tokens that the sum over a sequence is divided by, such as the most
    /// that it may have (`max_tokens` of its sampling).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub constant_length: Option<u32>,
    /// Weight of the entropy bonus.
    pub entropy: f64,
    /// Weight of the KL divergence to a reference (the k3 estimator).
    #[schemars(range(min = 0.0))]
    pub kl: f64,
    /// The reference of the KL divergence.
    pub kl_reference: KlReference,
}

impl Default for PolicyLoss {
    fn default() -> Self {
        Self {
            clip_low: 0.2,
            clip_high: 0.28,
            clip_dual: Some(3.0),
            old_policy: OldPolicy::Sampler,
            importance_cap: None,
            aggregation: LossAggregation::TokenMean,
            constant_length: None,
            entropy: 0.0,
            kl: 0.0,
            kl_reference: KlReference::Base,
        }
    }
}

impl PolicyLoss {
    /// Faults the schema cannot express, each with its field: of terms that need others, or cancel out.
    pub(crate) fn faults(&self, compute: Compute) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if let Some(cap) = self.importance_cap {
            if !(cap.is_finite() && cap >= 1.0) {
                faults.push(("importance_cap", format!("{cap}: at least 1 is valid, or none")));
            }
            if self.old_policy == OldPolicy::Sampler {
                let detail = format!(
                    "{cap}, and the ratio is to the sampler's probabilities already, so that they would be corrected for \
                     twice: `old_policy` = \"trainer\" is valid with it"
                );
                faults.push(("importance_cap", detail));
            }
            if (compute.sampler, compute.trainer, compute.dtype) == (Sampler::Engine, Trainer::Engine, Dtype::Fp32) {
                let detail = format!(
                    "{cap}, and there is nothing to correct: the engine samples and learns with the same numbers in fp32. \
                     Remove it; it is valid with another `compute.sampler`, `compute.trainer` or `compute.dtype`"
                );
                faults.push(("importance_cap", detail));
            }
        }
        match (self.aggregation, self.constant_length) {
            (LossAggregation::Constant, None) => faults.push((
                "constant_length",
                "none, and the aggregation `constant` divides by it: a number of tokens is valid, such as `max_tokens` of \
                 the sampling"
                    .to_owned(),
            )),
            (LossAggregation::TokenMean | LossAggregation::SequenceMean, Some(length)) => faults.push((
                "constant_length",
                format!(
                    "{length}, and only the aggregation `constant` divides by it: remove it, or set `aggregation` = \
                     \"constant\""
                ),
            )),
            _ => {}
        }
        faults
    }
}

/// The log-probabilities that the ratio is taken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OldPolicy {
    /// The sampler's, stored with the sequences; the ratio then also corrects for numerical differences between sampler
    /// and trainer.
    Sampler,
    /// The trainer's own before the first step, as in verl; the ratio of the first step is then 1.
    Trainer,
}

/// How the losses of tokens are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossAggregation {
    /// The mean over all tokens of a minibatch.
    TokenMean,
    /// The mean over sequences of each sequence's mean.
    SequenceMean,
    /// The mean over sequences of each sequence's sum, divided by `constant_length` (Dr. GRPO).
    Constant,
}

/// The reference that the policy is kept close to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlReference {
    /// The base without an adapter.
    Base,
    /// The version the update starts from.
    Start,
}

/// AdamW, and how often it takes a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    /// Step size.
    #[schemars(range(min = 0.0))]
    pub learning_rate: f64,
    /// Decay of the first moment.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta1: f64,
    /// Decay of the second moment.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta2: f64,
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Decoupled weight decay.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Maximum norm of a member's gradient; larger gradients are scaled down to it. 0 sets no limit.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Passes over the batch.
    #[schemars(range(min = 1))]
    pub epochs: u32,
    /// Optimizer steps per pass.
    #[schemars(range(min = 1))]
    pub minibatches: u32,
}

impl Default for Optimizer {
    fn default() -> Self {
        Self {
            learning_rate: 5e-5,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
            epochs: 1,
            minibatches: 1,
        }
    }
}

/// A part of an update that is split over several items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The gradient of one of several equal parts of the sequences.
    Gradient {
        /// The index of the part, from 0.
        index: u32,
        /// The number of parts.
        of: u32,
    },
    /// Sums the pieces in the given order and takes the optimizer step.
    Apply {
        /// The pieces, by index.
        gradients: Vec<Digest>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateResult {
    /// One entry per member, in the order of the payload; empty for a gradient piece.
    pub members: Vec<MemberUpdated>,
    /// The stored gradient, for a gradient piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Digest>,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
    /// Number of times a micro-batch was halved because memory ran out; if not 0, the run is not bit-reproducible.
    #[serde(default)]
    pub halvings: u32,
    /// What computed it; if a group of processes, the run is not bit-reproducible.
    #[serde(default, skip_serializing_if = "Trainer::is_engine")]
    pub trainer: Trainer,
}

/// One member's new version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberUpdated {
    pub member: MemberId,
    pub version: AdapterRef,
    pub diagnostics: MemberDiagnostics,
    /// The new version's geometry with the other members of the update, if the payload asks for it and the engine trained
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<MemberGeometry>,
}

/// Diagnostics of a member's step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberDiagnostics {
    /// Policy loss (or cross-entropy) without the entropy and KL terms, mean over optimizer steps.
    pub policy_loss: f64,
    /// Norm of the gradient before it was scaled down, mean over optimizer steps.
    pub grad_norm: f64,
    /// Mean entropy of the policy over the batch's tokens, in nats.
    pub entropy: f64,
    /// Share of tokens whose ratio was clipped.
    pub clip_share: f64,
    /// Mean ratio of the policy's probabilities to the sampler's.
    pub ratio: f64,
    /// Mean absolute difference between the sampler's and the trainer's log-probabilities, in nats.
    pub sampler_mismatch: f64,
    /// Share of tokens whose importance weight was truncated at `importance_cap`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub capped_share: f64,
    /// Share of the sampled sequences that were not learned from because they were cut at the token limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked_share: f64,
    /// Mean KL divergence to the reference, in nats; 0 if there is none.
    pub kl: f64,
    /// Mean KL divergence to the base, in nats, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl_to_base: Option<f64>,
    /// Tokens learned from, each counted once.
    pub tokens: u64,
}

/// The loss of an update. In JSON it is the object of a [`PolicyLoss`], or the text `cross_entropy`.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// The clipped policy gradient with its entropy and KL terms.
    PolicyGradient(PolicyLoss),
    /// The mean negative log-likelihood of the tokens; advantages are ignored.
    CrossEntropy,
}

const CROSS_ENTROPY: &str = "cross_entropy";

impl Loss {
    /// Whether sequences must carry the sampler's log-probabilities.
    pub fn needs_logprobs(&self) -> bool {
        matches!(self, Self::PolicyGradient(loss)
            if loss.old_policy == OldPolicy::Sampler || loss.importance_cap.is_some())
    }

    /// The reference of the KL term; `None` if there is no such term.
    pub fn kl_reference(&self) -> Option<KlReference> {
        match self {
            Self::PolicyGradient(loss) if loss.kl != 0.0 => Some(loss.kl_reference),
            Self::PolicyGradient(_) | Self::CrossEntropy => None,
        }
    }
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::PolicyGradient(loss) => loss.serialize(serializer),
            Self::CrossEntropy => serializer.serialize_str(CROSS_ENTROPY),
        }
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrObject;

        impl<'de> Visitor<'de> for TextOrObject {
            type Value = Loss;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "a policy loss or `{CROSS_ENTROPY}`")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Loss, E> {
                match name {
                    CROSS_ENTROPY => Ok(Loss::CrossEntropy),
                    other => Err(E::unknown_variant(other, &[CROSS_ENTROPY])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Loss, A::Error> {
                PolicyLoss::deserialize(MapAccessDeserializer::new(fields)).map(Loss::PolicyGradient)
            }
        }

        deserializer.deserialize_any(TextOrObject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_loss_reads_and_writes_as_it_does_alone() {
        let alone = serde_json::to_string(&PolicyLoss::default()).unwrap();
        let loss = Loss::PolicyGradient(PolicyLoss::default());
        assert_eq!(serde_json::to_string(&loss).unwrap(), alone);
        assert_eq!(serde_json::from_str::<Loss>(&alone).unwrap(), loss);
        assert_eq!(serde_json::to_string(&Loss::CrossEntropy).unwrap(), "\"cross_entropy\"");
        assert_eq!(serde_json::from_str::<Loss>("\"cross_entropy\"").unwrap(), Loss::CrossEntropy);
    }

    #[test]
    fn what_it_cannot_be_is_refused_by_name() {
        let refused = |text: &str| serde_json::from_str::<Loss>(text).unwrap_err().to_string();
        assert!(refused("\"entropy\"").contains("expected `cross_entropy`"));
        assert!(refused(r#"{"clip": 1}"#).contains("unknown field `clip`"));
        assert!(refused("3").contains("a policy loss or `cross_entropy`"));
    }
}
