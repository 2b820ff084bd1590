//! Metrics of a step's cost.

use super::{COST, Chart, Measure, measure, parts};
use crate::{
    diversity::PHASE,
    recipe::{StepView, WorkState},
    work::Outcome,
};

/// The phase that answers held-out rows.
pub(crate) const MEASURE: &str = "measure";
/// The phase that grades these answers.
pub(crate) const GRADE_MEASURE: &str = "grade-measure";

/// The cost of a step's items, by phase.
pub(crate) struct Costs {
    pub(crate) prompt_tokens: f64,
    pub(crate) completion_tokens: f64,
    propose: f64,
    check: f64,
    plan: f64,
    critique: f64,
    solve: f64,
    grade: f64,
    update: f64,
    evolve: f64,
    measure: f64,
    diversity: f64,
    halvings: f64,
}

/// A step's outcome, as far as cost is concerned.
pub(crate) trait HasCosts {
    fn costs(&self) -> &Costs;
}

impl Costs {
    fn all(value: f64) -> Self {
        Self {
            prompt_tokens: value,
            completion_tokens: value,
            propose: value,
            check: value,
            plan: value,
            critique: value,
            solve: value,
            grade: value,
            update: value,
            evolve: value,
            measure: value,
            diversity: value,
            halvings: value,
        }
    }

    /// The costs of a member: none, since items are shared by several members.
    pub(crate) fn none() -> Self {
        Self::all(f64::NAN)
    }

    /// The costs of the items in `view`. Tokens are those of training: measuring has its own time only.
    pub(crate) fn of(view: &StepView) -> Self {
        let mut costs = Self::all(0.0);
        for (key, state) in &view.work {
            let WorkState::Done(outcome) = state else { continue };
            match outcome {
                Outcome::Rollout(result) if key.phase == MEASURE => {
                    costs.measure += result.usage.seconds;
                    costs.halvings += f64::from(result.usage.halvings);
                }
                Outcome::Rollout(result) => {
                    costs.prompt_tokens += result.usage.prompt_tokens as f64;
                    costs.completion_tokens += result.usage.completion_tokens as f64;
                    costs.halvings += f64::from(result.usage.halvings);
                    match key.phase.as_str() {
                        "propose" | "challenge" => costs.propose += result.usage.seconds,
                        "plan" => costs.plan += result.usage.seconds,
                        "critique-question" | "critique-plan" => costs.critique += result.usage.seconds,
                        PHASE | "embed" => costs.diversity += result.usage.seconds,
                        _ => costs.solve += result.usage.seconds,
                    }
                }
                Outcome::Verify(result) => {
                    let seconds = result.verdicts.iter().map(|verdict| verdict.millis / 1e3).sum::<f64>();
                    match key.phase.as_str() {
                        "check" | "seed" => costs.check += seconds,
                        GRADE_MEASURE => costs.measure += seconds,
                        _ => costs.grade += seconds,
                    }
                }
                Outcome::Update(result) => {
                    costs.update += result.seconds;
                    // The item that sums gradient pieces reports their halvings again.
                    if result.gradient.is_none() {
                        costs.halvings += f64::from(result.halvings);
                    }
                }
                Outcome::Evolve(result) => costs.evolve += result.seconds,
                Outcome::Benchmark(_) => {}
            }
        }
        costs
    }
}

const SECONDS: Chart = parts(&COST, "Seconds by phase", "Workers' time by phase, summed over items.");
/// Tokens of prompts and of completions, and tokens learned from.
pub(crate) const TOKENS: Chart = parts(&COST, "Tokens", "Of this step.");
const HALVINGS: Chart = parts(
    &COST,
    "Halvings",
    "Number of times a batch was halved because memory ran out.",
);

pub(crate) const fn prompt_tokens<T: HasCosts>() -> Measure<T> {
    measure(
        "prompt_tokens",
        "tokens",
        "Tokens of prompts, each counted once whatever the number of samples.",
        &[&TOKENS],
        |of| of.costs().prompt_tokens,
    )
}

pub(crate) const fn diversity_seconds<T: HasCosts>() -> Measure<T> {
    measure(
        "diversity_seconds",
        "s",
        "Worker time on embedding questions and measuring their diversity.",
        &[&SECONDS],
        |of| of.costs().diversity,
    )
}

pub(crate) const fn propose_seconds<T: HasCosts>() -> Measure<T> {
    measure("propose_seconds", "s", "Worker time on proposals.", &[&SECONDS], |of| {
        of.costs().propose
    })
}

pub(crate) const fn check_seconds<T: HasCosts>() -> Measure<T> {
    measure(
        "check_seconds",
        "s",
        "Verifier time on proposals, summed over its slots.",
        &[&SECONDS],
        |of| of.costs().check,
    )
}

pub(crate) const fn plan_seconds<T: HasCosts>() -> Measure<T> {
    measure("plan_seconds", "s", "Worker time on plans.", &[&SECONDS], |of| {
        of.costs().plan
    })
}

pub(crate) const fn critique_seconds<T: HasCosts>() -> Measure<T> {
    measure(
        "critique_seconds",
        "s",
        "Worker time on scores of questions and plans.",
        &[&SECONDS],
        |of| of.costs().critique,
    )
}

pub(crate) const fn solve_seconds<T: HasCosts>() -> Measure<T> {
    measure("solve_seconds", "s", "Worker time on attempts.", &[&SECONDS], |of| {
        of.costs().solve
    })
}

pub(crate) const fn grade_seconds<T: HasCosts>() -> Measure<T> {
    measure(
        "grade_seconds",
        "s",
        "Verifier time on attempts, summed over its slots.",
        &[&SECONDS],
        |of| of.costs().grade,
    )
}

pub(crate) const fn update_seconds<T: HasCosts>() -> Measure<T> {
    measure("update_seconds", "s", "Worker time on updates.", &[&SECONDS], |of| {
        of.costs().update
    })
}

pub(crate) const fn evolve_seconds<T: HasCosts>() -> Measure<T> {
    measure("evolve_seconds", "s", "Worker time on births.", &[&SECONDS], |of| {
        of.costs().evolve
    })
}

pub(crate) const fn measure_seconds<T: HasCosts>() -> Measure<T> {
    measure(
        "measure_seconds",
        "s",
        "Worker and verifier time on held-out rows.",
        &[&SECONDS],
        |of| of.costs().measure,
    )
}

pub(crate) const fn halvings<T: HasCosts>() -> Measure<T> {
    measure(
        "halvings",
        "",
        "Number of times a batch was halved because memory ran out; if not 0, the run is not bit-reproducible.",
        &[&HALVINGS],
        |of| of.costs().halvings,
    )
}
