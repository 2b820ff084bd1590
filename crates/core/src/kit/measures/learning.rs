//! Metrics of updates.

use crate::{
    contract::{
        Chart, Expense,
        Highlight::Comparison,
        LEARNING, Metric,
        metric::{Measure, chart, mean, parts},
    },
    verdict::Signal,
    work::MemberUpdated,
};

/// A step's outcome, as far as updates are concerned.
pub(crate) trait HasUpdates {
    /// The updates of the members that the metrics cover.
    fn updated(&self) -> Vec<&MemberUpdated>;
}

const ENTROPY: Chart =
    chart(&LEARNING, "Entropy").about("Entropy of the policy over the tokens it learned from, in nats.");
const POLICY_LOSS: Chart = chart(&LEARNING, "Policy loss").about("Near 0 on-policy, whatever is learned.");
const GRADIENT_NORM: Chart = chart(&LEARNING, "Gradient norm").about("Before clipping.");
const CLIP_SHARE: Chart = chart(&LEARNING, "Clip share").about("Tokens whose ratio was clipped.");
const RATIO: Chart = chart(&LEARNING, "Ratio").about("Trainer's to sampler's probabilities.");
const SAMPLER_MISMATCH: Chart = chart(&LEARNING, "Sampler mismatch")
    .about("Difference between the sampler's and the trainer's log-probabilities, in nats.");
const KL: Chart = chart(&LEARNING, "KL").about("KL divergence to the reference; 0 if there is none.");
pub(crate) const UPDATES: Chart = parts(&LEARNING, "Updates and births").about("Adapters updated, and members born.");

/// The mean over the updates.
fn learned<T: HasUpdates>(value: fn(&MemberUpdated) -> f64) -> impl Fn(&T) -> f64 {
    move |of| mean(of.updated().into_iter().map(value))
}

/// What an update tells about the policy, in the order of stored rows.
pub(crate) fn policy<'t, T: HasUpdates + 't>() -> [Measure<'t, T>; 7] {
    [
        Metric::nats("entropy", &[&ENTROPY])
            .summary("Mean entropy of the policy over what it learned from.")
            .highlighted(&[Comparison])
            .signal(Signal::Entropy)
            .computed_by(learned(|new| new.diagnostics.entropy)),
        Metric::number("policy_loss", &[&POLICY_LOSS])
            .summary("Policy loss of the update.")
            .computed_by(learned(|new| new.diagnostics.policy_loss)),
        Metric::number("grad_norm", &[&GRADIENT_NORM])
            .summary("Norm of the gradient before it was clipped.")
            .computed_by(learned(|new| new.diagnostics.grad_norm)),
        Metric::share("clip_share", &[&CLIP_SHARE])
            .summary("Tokens whose ratio was clipped.")
            .computed_by(learned(|new| new.diagnostics.clip_share)),
        Metric::number("ratio", &[&RATIO])
            .summary("Mean ratio of the learning policy's probabilities to the sampler's.")
            .computed_by(learned(|new| new.diagnostics.ratio)),
        Metric::nats("sampler_mismatch", &[&SAMPLER_MISMATCH])
            .summary("Mean difference of the sampler's and the trainer's log-probabilities.")
            .computed_by(learned(|new| new.diagnostics.sampler_mismatch)),
        Metric::nats("kl", &[&KL])
            .summary("KL divergence to the reference, if there is one.")
            .computed_by(learned(|new| new.diagnostics.kl)),
    ]
}

pub(crate) fn updates<'t, T: HasUpdates + 't>() -> Measure<'t, T> {
    Metric::number("updates", &[&UPDATES])
        .summary("Adapters updated.")
        .expense(Expense::Updates)
        .of(|of| of.updated().len() as f64)
}
