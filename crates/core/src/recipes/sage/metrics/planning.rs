//! Metrics of plans.

use super::Measures;
use crate::contract::{
    Chart,
    Highlight::{Comparison, StepLine},
    Metric, PLANNING, Role, Side,
    metric::{chart, mean, of_side, share},
};

const SHOWN: Chart =
    chart(&PLANNING, "Plans shown").about("Share of the plans whose score is high enough for the solver to see them.");
const REWARD: Chart = chart(&PLANNING, "Planner reward").about("Mean reward of a plan.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        Metric::share("plan_shown_share", &[&SHOWN])
            .summary("Plans that the solver saw.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| {
                let plans = of.roles.contains(&Role::Planner);
                let planned = of.solved.iter().filter(|one| plans && one.planned.is_some());
                mean(planned.map(|one| share(one.is_shown)))
            }),
        Metric::number("planner_reward", &[&REWARD])
            .summary("Mean reward of a plan.")
            .of(|of| mean(of.rewards(Role::Planner))),
    ];
    of_side(Side::Plans, measures)
}
