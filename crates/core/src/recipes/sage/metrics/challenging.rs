//! Metrics of challenges and of the growing set.

use super::Measures;
use crate::{
    contract::{
        Chart, Growth,
        Highlight::{Comparison, Learnability, StepLine},
        Metric, PROPOSING, Role, Side,
        metric::{chart, mean, of_side, parts, share},
    },
    verdict::Signal,
};

const VALID: Chart =
    chart(&PROPOSING, "Valid challenges").about("Share of the challenges whose answer can be checked.");
const JOINED: Chart =
    chart(&PROPOSING, "Admitted challenges").about("Share of the challenges that joined the growing set.");
const DIFFICULTY: Chart = chart(&PROPOSING, "Difficulty")
    .about("Share of wrong answers without a plan to valid challenges. Ill-posed tasks count as difficult.");
const REWARD: Chart = chart(&PROPOSING, "Challenger reward").about("Mean reward of a challenge.");
const RIGHT: Chart = parts(&PROPOSING, "Right stated answers").about(
    "Share of the arithmetic questions that Lyceum can evaluate, of all challenges and of those that joined. Nothing \
     learns from it.",
);
const COPIES: Chart =
    chart(&PROPOSING, "Copies").about("Share of the challenges that repeat the question they were shown.");
const LENGTH: Chart = chart(&PROPOSING, "Proposal length").about("Mean tokens of a challenge.");
const POOL: Chart =
    parts(&PROPOSING, "Growing set").about("Tasks that can be shown to the challenger, planned and solved.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let of_challenger: Measures<'t> = vec![
        Metric::share("valid_share", &[&VALID])
            .summary("Challenges whose answer can be checked.")
            .signal(Signal::Valid)
            .of(|of| mean(of.candidates().iter().map(|one| share(one.estimate.is_some())))),
        Metric::share("admitted_share", &[&JOINED])
            .summary("Challenges that joined the growing set.")
            .growth(Growth::Admitted)
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.candidates().iter().map(|one| share(one.joins.is_some())))),
        Metric::share("difficulty", &[&DIFFICULTY])
            .summary("Wrong answers without a plan to valid challenges.")
            .highlighted(&[StepLine, Learnability])
            .of(|of| {
                let rates = of.candidates().iter().filter_map(|one| one.estimate);
                mean(rates.map(|estimate| 1.0 - f64::from(estimate.solve_rate())))
            }),
        Metric::number("challenger_reward", &[&REWARD])
            .summary("Mean reward of a challenge.")
            .highlighted(&[StepLine])
            .of(|of| mean(of.rewards(Role::Challenger))),
        Metric::share("copied_share", &[&COPIES])
            .summary("Challenges that repeat the question they were shown.")
            .signal(Signal::Duplicates)
            .highlighted(&[Learnability])
            .of(|of| mean(of.candidates().iter().map(|one| share(one.is_copy)))),
        Metric::tokens("proposal_length", &[&LENGTH])
            .summary("Mean length of a challenge.")
            .of(|of| mean(of.candidates().iter().map(|one| f64::from(one.sample.tokens)))),
        Metric::share("stated_right_share", &[&RIGHT])
            .summary("Stated answers that are right, of the challenges that can be evaluated exactly.")
            .growth(Growth::StatedRight)
            .highlighted(&[Comparison])
            .of(|of| mean(of.candidates().iter().filter_map(|one| one.is_right.map(share)))),
        Metric::share("admitted_right_share", &[&RIGHT])
            .summary("The same of the challenges that joined the growing set.")
            .growth(Growth::AdmittedRight)
            .highlighted(&[Comparison])
            .of(|of| {
                let joined = of.candidates().iter().filter(|one| one.joins.is_some());
                mean(joined.filter_map(|one| one.is_right.map(share)))
            }),
    ];
    let of_run: Measures<'t> = vec![
        Metric::number("pool_size", &[&POOL])
            .summary("Tasks in the growing set after the step, those of the dataset included.")
            .highlighted(&[StepLine, Comparison])
            .growth(Growth::Size)
            .of(|of| of.pool_size),
    ];
    let mut measures = of_side(Side::Proposes, of_challenger);
    measures.extend(of_run);
    measures
}
