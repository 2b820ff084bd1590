//! Metrics of plans.

use super::Scope;
use crate::recipe::{
    Chart,
    Highlight::{Comparison, StepLine},
    PLANNING, Role, Side,
    metric::{Measure, chart, highlighted, mean, measure, of_side, share},
};

const SHOWN: Chart = chart(
    &PLANNING,
    "Plans shown",
    "Share of the plans whose score is high enough for the solver to see them.",
);
const REWARD: Chart = chart(&PLANNING, "Planner reward", "Mean reward of a plan.");

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "plan_shown_share",
                "share",
                "Plans that the solver saw.",
                &[&SHOWN],
                |of| {
                    let plans = of.roles.contains(&Role::Planner);
                    let planned = of.solved.iter().filter(|one| plans && one.planned.is_some());
                    mean(planned.map(|one| share(one.is_shown)))
                },
            ),
        ),
        measure("planner_reward", "", "Mean reward of a plan.", &[&REWARD], |of| {
            mean(of.rewards(Role::Planner))
        }),
    ];
    let sided = measures.into_iter().map(|measure| of_side(Side::Plans, measure));
    sided.collect()
}
