//! Metrics of the answers that solvers learn from.

use super::Scope;
use crate::recipe::{
    Chart,
    Highlight::{Comparison, Learnability, StepLine},
    LEARNING, SOLVING, Side,
    metric::{
        Measure, chart, format_rate, highlighted, mean_entropy, mean_reward, measure, no_signal_share, of_side,
        pass_rate, response_length,
    },
};

const SOLVER_REWARD: Chart = chart(&SOLVING, "Solver reward", "Mean reward of an answer.");
const SOLVER_ENTROPY: Chart = chart(
    &LEARNING,
    "Solver entropy",
    "Mean entropy of the model over its answers, in nats.",
);

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(&[StepLine, Comparison], pass_rate()),
        format_rate(),
        measure(
            "solver_reward",
            "",
            "Mean reward of an answer.",
            &[&SOLVER_REWARD],
            mean_reward,
        ),
        highlighted(&[Learnability], no_signal_share()),
        response_length(),
        measure(
            "solver_entropy",
            "nats",
            "Mean entropy of the model over its answers.",
            &[&SOLVER_ENTROPY],
            mean_entropy,
        ),
    ];
    measures
        .into_iter()
        .map(|measure| of_side(Side::Solves, measure))
        .collect()
}
