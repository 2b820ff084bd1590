//! Measures that several recipes record: of answers, of updates, of cost.

use std::collections::BTreeMap;
use strum::EnumCount as _;

use crate::advantage::{Sampled, has_signal};
use crate::contract::Highlight::Comparison;
use crate::contract::metric::{Measure, chart, charts, mean, share};
use crate::contract::{
    COST, Chart, CostClass, Expense, LEARNING, Metric, Phase, PlanError, SOLVING, StepView, WorkState,
};
use crate::verdict::Signal;
use crate::work::{MemberUpdated, Outcome};

/// An answer that is learned from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// Whether it is right.
    pub(crate) correct: bool,
    /// Whether it could be read.
    pub(crate) well_formed: bool,
    /// Whether it has text before its answer.
    pub(crate) has_steps: bool,
    /// Its reward and length.
    pub(crate) sampled: Sampled,
    /// Mean entropy of the model over it, in nats.
    pub(crate) entropy: Option<f32>,
}

/// A step's outcome, as far as answers are concerned.
pub(crate) trait HasAnswers {
    fn answers(&self) -> impl Iterator<Item = Answered>;

    /// The rewards of each group that is learned from.
    fn groups(&self) -> Vec<Vec<f32>>;
}

/// The groups of samples of one prompt. A sample without another to compare it with is not a group.
pub(crate) fn of_prompts<K>(groups: BTreeMap<K, Vec<f32>>) -> impl Iterator<Item = Vec<f32>> {
    groups.into_values().filter(|rewards| rewards.len() > 1)
}

charts! {
    chart PASS_RATE SOLVING "Pass rate": "Share of the answers that are correct.";
    chart FORMAT_RATE SOLVING "Format rate": "Share of the answers in which a solution was found.";
    chart NO_SIGNAL SOLVING "No signal":
        "Groups of samples that all got the same reward; a group estimator learns nothing from them.";
    chart RESPONSE_LENGTH LEARNING "Response length": "Mean tokens of an answer.";
}

pub(crate) fn pass_rate<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("pass_rate", &[&PASS_RATE])
        .summary("Answers that are correct.")
        .of(|of| mean(of.answers().map(|answer| share(answer.correct))))
}

pub(crate) fn format_rate<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("format_rate", &[&FORMAT_RATE])
        .summary("Answers with a solution in them.")
        .signal(Signal::Format)
        .of(|of| mean(of.answers().map(|answer| share(answer.well_formed))))
}

pub(crate) fn no_signal_share<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("no_signal_share", &[&NO_SIGNAL])
        .summary("Groups of samples that all got the same reward.")
        .signal(Signal::NoSignal)
        .of(|of| mean(of.groups().iter().map(|rewards| share(!has_signal(rewards)))))
}

pub(crate) fn response_length<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::tokens("response_length", &[&RESPONSE_LENGTH])
        .summary("Mean length of an answer.")
        .of(|of| mean(of.answers().map(|answer| f64::from(answer.sampled.tokens))))
}

pub(crate) const STEPS: Chart = chart(&SOLVING, "Answers with steps")
    .about("Share of the answers with text before the part that is judged, such as the steps that lead to it.");

/// Stored rows depend on the order of metrics, so it is the last of each recipe.
pub(crate) fn steps_share<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("steps_share", &[&STEPS])
        .summary("Answers with text before the part that is judged.")
        .of(|of| mean(of.answers().map(|answer| share(answer.has_steps))))
}

pub(crate) fn mean_reward<T: HasAnswers>(of: &T) -> f64 {
    mean(of.answers().map(|answer| f64::from(answer.sampled.reward)))
}

/// Mean entropy of the model over its answers, in nats.
pub(crate) fn mean_entropy<T: HasAnswers>(of: &T) -> f64 {
    mean(of.answers().filter_map(|answer| answer.entropy).map(f64::from))
}

/// A step's outcome, as far as updates are concerned.
pub(crate) trait HasUpdates {
    /// The updates of the members that the metrics cover.
    fn updated(&self) -> Vec<&MemberUpdated>;
}

charts! {
    chart ENTROPY LEARNING "Entropy": "Entropy of the policy over the tokens it learned from, in nats.";
    chart POLICY_LOSS LEARNING "Policy loss": "Near 0 on-policy, whatever is learned.";
    chart GRADIENT_NORM LEARNING "Gradient norm": "Before clipping.";
    chart CLIP_SHARE LEARNING "Clip share": "Tokens whose ratio was clipped.";
    chart RATIO LEARNING "Ratio": "Trainer's to sampler's probabilities.";
    chart SAMPLER_MISMATCH LEARNING "Sampler mismatch":
        "Difference between the sampler's and the trainer's log-probabilities, in nats.";
    chart CAPPED_SHARE LEARNING "Capped share":
        "Tokens whose importance weight was truncated at `importance_cap`; 0 if there is none.";
    chart MASKED_SHARE LEARNING "Masked share":
        "Sequences not learned from because they were cut at the token limit; 0 without `mask_truncated`.";
    chart KL LEARNING "KL": "KL divergence to the reference; 0 if there is none.";
    chart KL_TO_BASE LEARNING "KL to the base":
        "How far the policy is from the base on what it sampled, in nats; measured where benchmarks are due.";
    pub(crate) parts UPDATES LEARNING "Updates and births": "Adapters updated, and members born.";
}

/// The mean over the updates.
fn learned<T: HasUpdates>(value: fn(&MemberUpdated) -> f64) -> impl Fn(&T) -> f64 {
    move |of| mean(of.updated().into_iter().map(value))
}

/// What an update tells about the policy, in the order of stored rows.
pub(crate) fn policy<'t, T: HasUpdates + 't>() -> [Measure<'t, T>; 9] {
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
        Metric::share("capped_share", &[&CAPPED_SHARE])
            .summary("Tokens whose importance weight was truncated.")
            .computed_by(learned(|new| new.diagnostics.capped_share)),
        Metric::share("masked_share", &[&MASKED_SHARE])
            .summary("Sequences not learned from because they were cut at the token limit.")
            .computed_by(learned(|new| new.diagnostics.masked_share)),
    ]
}

/// The KL divergence to the base, which updates measure in the steps after which benchmarks are due.
pub(crate) fn kl_to_base<'t, T: HasUpdates + 't>() -> Measure<'t, T> {
    Metric::nats("kl_to_base", &[&KL_TO_BASE])
        .summary("KL divergence to the base, in the steps after which benchmarks are due; not by torchrun, nor of gradients in pieces.")
        .computed_by(learned(|new| new.diagnostics.kl_to_base.unwrap_or(f64::NAN)))
}

pub(crate) fn updates<'t, T: HasUpdates + 't>() -> Measure<'t, T> {
    Metric::number("updates", &[&UPDATES])
        .summary("Adapters updated.")
        .expense(Expense::Updates)
        .of(|of| of.updated().len() as f64)
}

/// The cost of a step's items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    prompt_tokens: f64,
    pub(crate) completion_tokens: f64,
    halvings: f64,
    seconds: [f64; CostClass::COUNT],
}

/// A step's outcome, as far as cost is concerned.
pub(crate) trait HasCosts {
    fn costs(&self) -> &Costs;

    /// Tokens generated.
    fn completion_tokens(&self) -> f64 {
        self.costs().completion_tokens
    }
}

impl Costs {
    fn all(value: f64) -> Self {
        Self { prompt_tokens: value, completion_tokens: value, halvings: value, seconds: [value; CostClass::COUNT] }
    }

    /// The costs of a member: none, since items are shared by several members.
    pub(crate) fn none() -> Self {
        Self::all(f64::NAN)
    }

    /// The costs of the items in `view`.
    ///
    /// # Errors
    /// A phase is not one of `phases`, so it is not known what its time counts as.
    pub(crate) fn of(view: &StepView, phases: &[Phase]) -> Result<Self, PlanError> {
        let mut costs = Self::all(0.0);
        for (key, state) in &view.work {
            let WorkState::Done(outcome) = state else { continue };
            let class = || {
                let phase = phases.iter().find(|phase| phase.name == key.phase);
                phase.map(|phase| phase.cost).ok_or_else(|| {
                    let known: Vec<&str> = phases.iter().map(|phase| phase.name).collect();
                    let (phase, known) = (&key.phase, known.join(", "));
                    PlanError::Other(format!("the cost of phase `{phase}` has no class; phases that have one: {known}"))
                })
            };
            let (class, seconds, halvings) = match outcome {
                Outcome::Rollout(result) => {
                    let (class, usage) = (class()?, &result.usage);
                    if class != CostClass::Measure {
                        costs.prompt_tokens += usage.prompt_tokens as f64;
                        costs.completion_tokens += usage.completion_tokens as f64;
                    }
                    (class, usage.seconds, usage.halvings)
                }
                Outcome::Verify(result) => {
                    let millis = result.verdicts.iter().map(|verdict| verdict.millis / 1e3);
                    (class()?, millis.sum(), 0)
                }
                // The item that sums gradient pieces reports their halvings again.
                Outcome::Update(result) if result.gradient.is_some() => (CostClass::Update, result.seconds, 0),
                Outcome::Update(result) => (CostClass::Update, result.seconds, result.halvings),
                Outcome::Evolve(result) => (CostClass::Evolve, result.seconds, 0),
                Outcome::Benchmark(_) => continue,
            };
            costs.seconds[class as usize] += seconds;
            costs.halvings += f64::from(halvings);
        }
        Ok(costs)
    }
}

charts! {
    parts SECONDS COST "Seconds by phase": "Workers' time by phase, summed over items.";
    parts TOKENS COST "Tokens": "Of this step.";
    parts HALVINGS COST "Halvings": "Number of times a batch was halved because memory ran out.";
}

/// Metrics of updates and of cost, with the time of phases of these classes, in the order of stored rows.
pub(crate) fn of_cost<'t, T: HasCosts + HasUpdates + 't>(classes: &[CostClass]) -> Vec<Measure<'t, T>> {
    let before = std::iter::once(updates()).chain(tokens());
    let seconds = classes.iter().map(|class| seconds(*class));
    before.chain(seconds).chain([halvings()]).collect()
}

pub(crate) fn tokens<'t, T: HasCosts + HasUpdates + 't>() -> [Measure<'t, T>; 3] {
    [
        Metric::tokens("prompt_tokens", &[&TOKENS])
            .summary("Tokens of prompts, each counted once whatever the number of samples.")
            .of(|of| of.costs().prompt_tokens),
        Metric::tokens("completion_tokens", &[&TOKENS])
            .summary("Tokens generated.")
            .expense(Expense::CompletionTokens)
            .of(|of| of.completion_tokens()),
        Metric::tokens("learned_tokens", &[&TOKENS])
            .summary("Tokens learned from.")
            .expense(Expense::LearnedTokens)
            .of(|of| of.updated().iter().map(|new| new.diagnostics.tokens as f64).sum()),
    ]
}

/// The time of phases of one class.
pub(crate) fn seconds<'t, T: HasCosts + 't>(class: CostClass) -> Measure<'t, T> {
    let (name, summary) = match class {
        CostClass::Propose => ("propose_seconds", "Worker time on proposals."),
        CostClass::Check => ("check_seconds", "Verifier time on proposals, summed over its slots."),
        CostClass::Plan => ("plan_seconds", "Worker time on plans."),
        CostClass::Critique => ("critique_seconds", "Worker time on scores of questions and plans."),
        CostClass::Solve => ("solve_seconds", "Worker time on attempts."),
        CostClass::Grade => ("grade_seconds", "Verifier time on attempts, summed over its slots, and a judge's."),
        CostClass::Measure => ("measure_seconds", "Worker and verifier time on held-out rows."),
        CostClass::Diversity => {
            ("diversity_seconds", "Worker time on embedding questions and measuring their diversity.")
        }
        CostClass::Update => ("update_seconds", "Worker time on updates."),
        CostClass::Evolve => ("evolve_seconds", "Worker time on births."),
    };
    Metric::seconds(name, &[&SECONDS]).summary(summary).computed_by(move |of: &T| of.costs().seconds[class as usize])
}

pub(crate) fn halvings<'t, T: HasCosts + 't>() -> Measure<'t, T> {
    Metric::number("halvings", &[&HALVINGS])
        .summary(
            "Number of times a batch was halved because memory ran out; if not 0, the run is not bit-reproducible.",
        )
        .of(|of| of.costs().halvings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::phase;
    use crate::work::{VerifyResult, WorkKey};

    #[test]
    fn time_of_an_undeclared_phase_counts_as_no_other() {
        let mut view = StepView::default();
        let done = WorkState::Done(Outcome::Verify(VerifyResult { verdicts: Vec::new() }));
        view.work.insert(WorkKey::new(0, "dream"), done);
        let refused = Costs::of(&view, &[phase::SOLVE, phase::GRADE]).err().unwrap().to_string();
        assert!(refused.contains("`dream`") && refused.contains("solve, grade"), "{refused}");
    }
}
