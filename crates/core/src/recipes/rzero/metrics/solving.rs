//! Metrics of the answers that solvers learn from.

use super::Measures;
use crate::{
    contract::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        LEARNING, Metric, SOLVING, Side,
        metric::{chart, of_side},
    },
    kit::measures::{format_rate, mean_entropy, mean_reward, no_signal_share, pass_rate, response_length},
};

const SOLVER_REWARD: Chart = chart(&SOLVING, "Solver reward").about("Mean reward of an answer.");
const SOLVER_ENTROPY: Chart =
    chart(&LEARNING, "Solver entropy").about("Mean entropy of the model over its answers, in nats.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        pass_rate().highlighted(&[StepLine, Comparison]),
        format_rate(),
        Metric::number("solver_reward", &[&SOLVER_REWARD])
            .summary("Mean reward of an answer.")
            .of(mean_reward),
        no_signal_share().highlighted(&[Learnability]),
        response_length(),
        Metric::nats("solver_entropy", &[&SOLVER_ENTROPY])
            .summary("Mean entropy of the model over its answers.")
            .of(mean_entropy),
    ];
    of_side(Side::Solves, measures)
}
