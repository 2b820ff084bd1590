//! Metrics of updates.

use super::{Chart, Highlight::Comparison, LEARNING, Measure, chart, highlighted, mean, measure, parts};
use crate::work::MemberUpdated;

/// A step's outcome, as far as updates are concerned.
pub(crate) trait HasUpdates {
    /// The updates of the members that the metrics cover.
    fn updated(&self) -> Vec<&MemberUpdated>;
}

const ENTROPY: Chart = chart(
    &LEARNING,
    "Entropy",
    "Entropy of the policy over the tokens it learned from, in nats.",
);
const POLICY_LOSS: Chart = chart(&LEARNING, "Policy loss", "Near 0 on-policy, whatever is learned.");
const GRADIENT_NORM: Chart = chart(&LEARNING, "Gradient norm", "Before clipping.");
const CLIP_SHARE: Chart = chart(&LEARNING, "Clip share", "Tokens whose ratio was clipped.");
const RATIO: Chart = chart(&LEARNING, "Ratio", "Trainer's to sampler's probabilities.");
const SAMPLER_MISMATCH: Chart = chart(
    &LEARNING,
    "Sampler mismatch",
    "Difference between the sampler's and the trainer's log-probabilities, in nats.",
);
const KL: Chart = chart(&LEARNING, "KL", "KL divergence to the reference; 0 if there is none.");
pub(crate) const UPDATES: Chart = parts(&LEARNING, "Updates and births", "Adapters updated, and members born.");

fn learned<T: HasUpdates>(of: &T, value: fn(&MemberUpdated) -> f64) -> f64 {
    mean(of.updated().into_iter().map(value))
}

const fn entropy<T: HasUpdates>() -> Measure<T> {
    measure(
        "entropy",
        "nats",
        "Mean entropy of the policy over what it learned from.",
        &[&ENTROPY],
        |of| learned(of, |new| new.diagnostics.entropy),
    )
}

const fn policy_loss<T: HasUpdates>() -> Measure<T> {
    measure("policy_loss", "", "Policy loss of the update.", &[&POLICY_LOSS], |of| {
        learned(of, |new| new.diagnostics.policy_loss)
    })
}

const fn grad_norm<T: HasUpdates>() -> Measure<T> {
    measure(
        "grad_norm",
        "",
        "Norm of the gradient before it was clipped.",
        &[&GRADIENT_NORM],
        |of| learned(of, |new| new.diagnostics.grad_norm),
    )
}

const fn clip_share<T: HasUpdates>() -> Measure<T> {
    measure(
        "clip_share",
        "share",
        "Tokens whose ratio was clipped.",
        &[&CLIP_SHARE],
        |of| learned(of, |new| new.diagnostics.clip_share),
    )
}

const fn ratio<T: HasUpdates>() -> Measure<T> {
    measure(
        "ratio",
        "",
        "Mean ratio of the learning policy's probabilities to the sampler's.",
        &[&RATIO],
        |of| learned(of, |new| new.diagnostics.ratio),
    )
}

const fn sampler_mismatch<T: HasUpdates>() -> Measure<T> {
    measure(
        "sampler_mismatch",
        "nats",
        "Mean difference of the sampler's and the trainer's log-probabilities.",
        &[&SAMPLER_MISMATCH],
        |of| learned(of, |new| new.diagnostics.sampler_mismatch),
    )
}

const fn kl<T: HasUpdates>() -> Measure<T> {
    measure(
        "kl",
        "nats",
        "KL divergence to the reference, if there is one.",
        &[&KL],
        |of| learned(of, |new| new.diagnostics.kl),
    )
}

/// What an update tells about the policy, in the order of stored rows.
pub(crate) fn policy<T: HasUpdates>() -> [Measure<T>; 7] {
    [
        highlighted(&[Comparison], entropy()),
        policy_loss(),
        grad_norm(),
        clip_share(),
        ratio(),
        sampler_mismatch(),
        kl(),
    ]
}

pub(crate) const fn updates<T: HasUpdates>() -> Measure<T> {
    measure("updates", "", "Adapters updated.", &[&UPDATES], |of| {
        of.updated().len() as f64
    })
}

pub(crate) const fn learned_tokens<T: HasUpdates>() -> Measure<T> {
    measure(
        "learned_tokens",
        "tokens",
        "Tokens learned from.",
        &[&super::cost::TOKENS],
        |of| of.updated().iter().map(|new| new.diagnostics.tokens as f64).sum(),
    )
}
