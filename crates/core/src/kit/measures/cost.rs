//! Metrics of a step's cost.

use strum::EnumCount as _;

use super::{HasUpdates, updates};
use crate::{
    contract::{
        COST, Chart, CostClass, Expense, Metric, Phase, PlanError, StepView, WorkState,
        metric::{Measure, parts},
    },
    work::Outcome,
};

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
        Self {
            prompt_tokens: value,
            completion_tokens: value,
            halvings: value,
            seconds: [value; CostClass::COUNT],
        }
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
                    PlanError::Other(format!(
                        "the cost of phase `{phase}` has no class; phases that have one: {known}"
                    ))
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

const SECONDS: Chart = parts(&COST, "Seconds by phase").about("Workers' time by phase, summed over items.");
const TOKENS: Chart = parts(&COST, "Tokens").about("Of this step.");
const HALVINGS: Chart = parts(&COST, "Halvings").about("Number of times a batch was halved because memory ran out.");

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
        CostClass::Grade => ("grade_seconds", "Verifier time on attempts, summed over its slots."),
        CostClass::Measure => ("measure_seconds", "Worker and verifier time on held-out rows."),
        CostClass::Diversity => (
            "diversity_seconds",
            "Worker time on embedding questions and measuring their diversity.",
        ),
        CostClass::Update => ("update_seconds", "Worker time on updates."),
        CostClass::Evolve => ("evolve_seconds", "Worker time on births."),
    };
    Metric::seconds(name, &[&SECONDS])
        .summary(summary)
        .computed_by(move |of: &T| of.costs().seconds[class as usize])
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
    use crate::{
        contract::phase,
        work::{VerifyResult, WorkKey},
    };

    #[test]
    fn time_of_an_undeclared_phase_counts_as_no_other() {
        let mut view = StepView::default();
        let done = WorkState::Done(Outcome::Verify(VerifyResult { verdicts: Vec::new() }));
        view.work.insert(WorkKey::new(0, "dream"), done);
        let refused = Costs::of(&view, &[phase::SOLVE, phase::GRADE])
            .err()
            .unwrap()
            .to_string();
        assert!(
            refused.contains("`dream`") && refused.contains("solve, grade"),
            "{refused}"
        );
    }
}
