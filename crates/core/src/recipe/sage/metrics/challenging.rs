//! Metrics of challenges and of the growing set.

use super::Scope;
use crate::recipe::{
    Chart,
    Highlight::{Comparison, Learnability, StepLine},
    PROPOSING, Role, Side,
    metric::{Measure, chart, highlighted, mean, measure, of_side, parts, share},
};

const VALID: Chart = chart(
    &PROPOSING,
    "Valid challenges",
    "Share of the challenges whose answer can be checked.",
);
const JOINED: Chart = chart(
    &PROPOSING,
    "Admitted challenges",
    "Share of the challenges that joined the growing set.",
);
const DIFFICULTY: Chart = chart(
    &PROPOSING,
    "Difficulty",
    "Share of wrong answers without a plan to valid challenges. Ill-posed tasks count as difficult.",
);
const REWARD: Chart = chart(&PROPOSING, "Challenger reward", "Mean reward of a challenge.");
const RIGHT: Chart = parts(
    &PROPOSING,
    "Right stated answers",
    "Share of the arithmetic questions that Lyceum can evaluate, of all challenges and of those that joined. Nothing \
     learns from it.",
);
const COPIES: Chart = chart(
    &PROPOSING,
    "Copies",
    "Share of the challenges that repeat the question they were shown.",
);
const LENGTH: Chart = chart(&PROPOSING, "Proposal length", "Mean tokens of a challenge.");
const POOL: Chart = parts(
    &PROPOSING,
    "Growing set",
    "Tasks that can be shown to the challenger, planned and solved.",
);

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let of_challenger: Vec<Measure<Scope<'t>>> = vec![
        measure(
            "valid_share",
            "share",
            "Challenges whose answer can be checked.",
            &[&VALID],
            |of| mean(of.candidates().iter().map(|one| share(one.estimate.is_some()))),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure(
                "admitted_share",
                "share",
                "Challenges that joined the growing set.",
                &[&JOINED],
                |of| mean(of.candidates().iter().map(|one| share(one.joins.is_some()))),
            ),
        ),
        highlighted(
            &[StepLine, Learnability],
            measure(
                "difficulty",
                "share",
                "Wrong answers without a plan to valid challenges.",
                &[&DIFFICULTY],
                |of| {
                    let rates = of.candidates().iter().filter_map(|one| one.estimate);
                    mean(rates.map(|estimate| 1.0 - f64::from(estimate.solve_rate())))
                },
            ),
        ),
        highlighted(
            &[StepLine],
            measure(
                "challenger_reward",
                "",
                "Mean reward of a challenge.",
                &[&REWARD],
                |of| mean(of.rewards(Role::Challenger)),
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "copied_share",
                "share",
                "Challenges that repeat the question they were shown.",
                &[&COPIES],
                |of| mean(of.candidates().iter().map(|one| share(one.is_copy))),
            ),
        ),
        measure(
            "proposal_length",
            "tokens",
            "Mean length of a challenge.",
            &[&LENGTH],
            |of| mean(of.candidates().iter().map(|one| f64::from(one.sample.tokens))),
        ),
        highlighted(
            &[Comparison],
            measure(
                "stated_right_share",
                "share",
                "Stated answers that are right, of the challenges that can be evaluated exactly.",
                &[&RIGHT],
                |of| mean(of.candidates().iter().filter_map(|one| one.is_right.map(share))),
            ),
        ),
        highlighted(
            &[Comparison],
            measure(
                "admitted_right_share",
                "share",
                "The same of the challenges that joined the growing set.",
                &[&RIGHT],
                |of| {
                    let joined = of.candidates().iter().filter(|one| one.joins.is_some());
                    mean(joined.filter_map(|one| one.is_right.map(share)))
                },
            ),
        ),
    ];
    let sided = of_challenger
        .into_iter()
        .map(|measure| of_side(Side::Proposes, measure));
    let of_run = highlighted(
        &[StepLine, Comparison],
        measure(
            "pool_size",
            "",
            "Tasks in the growing set after the step, those of the dataset included.",
            &[&POOL],
            |of: &Scope<'_>| of.pool_size,
        ),
    );
    sided.chain([of_run]).collect()
}
