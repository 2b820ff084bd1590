//! Metrics of the student.

use super::Scope;
use crate::{
    recipe::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        SOLVING, Side,
        metric::{
            Measure, chart, format_rate, highlighted, mean, mean_reward, measure, no_signal_share, of_side, parts,
            pass_rate, response_length, share,
        },
    },
    verify::ProblemKind,
};

const REWARD: Chart = chart(
    &SOLVING,
    "Student reward",
    "Mean reward of an attempt at a lemma or lift.",
);
const BY_FORMAT: Chart = parts(
    &SOLVING,
    "Pass rate by format",
    "Share of correct attempts at lemmas and lifts that are asked as induction, deduction and abduction.",
);
const REAL: Chart = parts(
    &SOLVING,
    "Real data",
    "Share of the answers to real data that are correct, and that have a solution.",
);
const REAL_REWARD: Chart = chart(
    &SOLVING,
    "Reward on real data",
    "Mean reward of an answer to real data.",
);

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(&[StepLine, Comparison], pass_rate()),
        measure(
            "induction_pass_rate",
            "share",
            "Correct attempts at problems asked as induction.",
            &[&BY_FORMAT],
            |of| of.pass_rate_of(ProblemKind::CodeF),
        ),
        measure(
            "deduction_pass_rate",
            "share",
            "Correct attempts at problems asked as deduction.",
            &[&BY_FORMAT],
            |of| of.pass_rate_of(ProblemKind::CodeO),
        ),
        measure(
            "abduction_pass_rate",
            "share",
            "Correct attempts at problems asked as abduction.",
            &[&BY_FORMAT],
            |of| of.pass_rate_of(ProblemKind::CodeI),
        ),
        format_rate(),
        measure(
            "student_reward",
            "",
            "Mean reward of an attempt at a lemma or lift.",
            &[&REWARD],
            mean_reward,
        ),
        highlighted(&[Learnability], no_signal_share()),
        response_length(),
    ];
    let sided = measures.into_iter().map(|measure| of_side(Side::Solves, measure));
    sided.collect()
}

pub(super) fn of_real_data<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "real_pass_rate",
                "share",
                "Answers to real data that are correct.",
                &[&REAL],
                |of| mean(of.real_answers().iter().map(|answer| share(answer.correct))),
            ),
        ),
        measure(
            "real_format_rate",
            "share",
            "Answers to real data with a solution in them.",
            &[&REAL],
            |of| mean(of.real_answers().iter().map(|answer| share(answer.well_formed))),
        ),
        measure(
            "real_reward",
            "",
            "Mean reward of an answer to real data.",
            &[&REAL_REWARD],
            |of| {
                let rewards = of.real_answers().iter().map(|answer| answer.sequence.sampled.reward);
                mean(rewards.map(f64::from))
            },
        ),
    ];
    let sided = measures.into_iter().map(|measure| of_side(Side::Solves, measure));
    sided.collect()
}

impl Scope<'_> {
    /// The share of correct attempts at problems asked in one format.
    fn pass_rate_of(&self, format: ProblemKind) -> f64 {
        let attempts = self.attempts().iter().filter(|attempt| attempt.kind == format);
        mean(attempts.map(|attempt| share(attempt.correct)))
    }
}
