//! Metrics of the answers that are learned from.

use super::{Measures, Scope};
use crate::{
    contract::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        Metric, SOLVING, Side,
        metric::{chart, mean, of_side, parts, share},
    },
    kit::measures::{format_rate, mean_reward, no_signal_share, pass_rate, response_length},
};

const REWARD: Chart = chart(&SOLVING, "Solver reward").about("Mean reward of an answer.");
const BY_PLAN: Chart = parts(&SOLVING, "Pass rate with and without a plan").about("Share of correct answers where the solver saw the plan, and where it did not. Plans of easy tasks may be better, so \
     a difference alone does not say that plans help.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        pass_rate().highlighted(&[StepLine, Comparison]),
        Metric::share("planned_pass_rate", &[&BY_PLAN])
            .summary("Answers that are correct, where a plan was shown.")
            .of(|of| of.pass_rate_where(true)),
        Metric::share("unplanned_pass_rate", &[&BY_PLAN])
            .summary("Answers that are correct, where no plan was shown.")
            .of(|of| of.pass_rate_where(false)),
        format_rate(),
        Metric::number("solver_reward", &[&REWARD])
            .summary("Mean reward of an answer.")
            .of(mean_reward),
        no_signal_share().highlighted(&[Learnability]),
        response_length(),
    ];
    of_side(Side::Solves, measures)
}

impl Scope<'_> {
    /// The share of correct answers where a plan was shown, or where none was.
    fn pass_rate_where(&self, is_shown: bool) -> f64 {
        let answers = self.solved().iter().filter(|one| one.is_shown == is_shown);
        mean(answers.map(|one| share(one.correct)))
    }
}
