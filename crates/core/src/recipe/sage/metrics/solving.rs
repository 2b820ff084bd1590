//! Metrics of the answers that are learned from.

use super::Scope;
use crate::recipe::{
    Chart,
    Highlight::{Comparison, Learnability, StepLine},
    SOLVING, Side,
    metric::{
        Measure, chart, format_rate, highlighted, mean, mean_reward, measure, no_signal_share, of_side, parts,
        pass_rate, response_length, share,
    },
};

const REWARD: Chart = chart(&SOLVING, "Solver reward", "Mean reward of an answer.");
const BY_PLAN: Chart = parts(
    &SOLVING,
    "Pass rate with and without a plan",
    "Share of correct answers where the solver saw the plan, and where it did not. Plans of easy tasks may be better, so \
     a difference alone does not say that plans help.",
);

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(&[StepLine, Comparison], pass_rate()),
        measure(
            "planned_pass_rate",
            "share",
            "Answers that are correct, where a plan was shown.",
            &[&BY_PLAN],
            |of| of.pass_rate_where(true),
        ),
        measure(
            "unplanned_pass_rate",
            "share",
            "Answers that are correct, where no plan was shown.",
            &[&BY_PLAN],
            |of| of.pass_rate_where(false),
        ),
        format_rate(),
        measure(
            "solver_reward",
            "",
            "Mean reward of an answer.",
            &[&REWARD],
            mean_reward,
        ),
        highlighted(&[Learnability], no_signal_share()),
        response_length(),
    ];
    let sided = measures.into_iter().map(|measure| of_side(Side::Solves, measure));
    sided.collect()
}

impl Scope<'_> {
    /// The share of correct answers where a plan was shown, or where none was.
    fn pass_rate_where(&self, is_shown: bool) -> f64 {
        let answers = self.solved().iter().filter(|one| one.is_shown == is_shown);
        mean(answers.map(|one| share(one.correct)))
    }
}
