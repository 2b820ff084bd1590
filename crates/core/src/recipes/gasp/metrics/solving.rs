//! Metrics of the student.

use super::{Measures, Scope};
use crate::{
    contract::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        Metric, SOLVING, Side,
        metric::{chart, mean, of_side, parts, share},
    },
    kit::measures::{format_rate, mean_reward, no_signal_share, pass_rate, response_length},
    verify::ProblemKind,
};

const REWARD: Chart = chart(&SOLVING, "Student reward").about("Mean reward of an attempt at a lemma or lift.");
const BY_FORMAT: Chart = parts(&SOLVING, "Pass rate by format")
    .about("Share of correct attempts at lemmas and lifts that are asked as induction, deduction and abduction.");
const REAL: Chart =
    parts(&SOLVING, "Real data").about("Share of the answers to real data that are correct, and that have a solution.");
const REAL_REWARD: Chart = chart(&SOLVING, "Reward on real data").about("Mean reward of an answer to real data.");

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        pass_rate().highlighted(&[StepLine, Comparison]),
        Metric::share("induction_pass_rate", &[&BY_FORMAT])
            .summary("Correct attempts at problems asked as induction.")
            .of(|of| of.pass_rate_of(ProblemKind::CodeF)),
        Metric::share("deduction_pass_rate", &[&BY_FORMAT])
            .summary("Correct attempts at problems asked as deduction.")
            .of(|of| of.pass_rate_of(ProblemKind::CodeO)),
        Metric::share("abduction_pass_rate", &[&BY_FORMAT])
            .summary("Correct attempts at problems asked as abduction.")
            .of(|of| of.pass_rate_of(ProblemKind::CodeI)),
        format_rate(),
        Metric::number("student_reward", &[&REWARD])
            .summary("Mean reward of an attempt at a lemma or lift.")
            .of(mean_reward),
        no_signal_share().highlighted(&[Learnability]),
        response_length(),
    ];
    of_side(Side::Solves, measures)
}

pub(super) fn of_real_data<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        Metric::share("real_pass_rate", &[&REAL])
            .summary("Answers to real data that are correct.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.real_answers().iter().map(|answer| share(answer.correct)))),
        Metric::share("real_format_rate", &[&REAL])
            .summary("Answers to real data with a solution in them.")
            .of(|of| mean(of.real_answers().iter().map(|answer| share(answer.well_formed)))),
        Metric::number("real_reward", &[&REAL_REWARD])
            .summary("Mean reward of an answer to real data.")
            .of(|of| {
                let rewards = of.real_answers().iter().map(|answer| answer.sequence.sampled.reward);
                mean(rewards.map(f64::from))
            }),
    ];
    of_side(Side::Solves, measures)
}

impl Scope<'_> {
    /// The share of correct attempts at problems asked in one format.
    fn pass_rate_of(&self, format: ProblemKind) -> f64 {
        let attempts = self.attempts().iter().filter(|attempt| attempt.kind == format);
        mean(attempts.map(|attempt| share(attempt.correct)))
    }
}
