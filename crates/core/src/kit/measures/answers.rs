//! Metrics of answers that are learned from.

use std::collections::BTreeMap;

use crate::{
    advantage::{Sampled, has_signal},
    contract::{
        Chart, LEARNING, Metric, SOLVING,
        metric::{Measure, chart, mean, share},
    },
    verdict::Signal,
};

/// An answer that is learned from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// Whether it is right.
    pub(crate) correct: bool,
    /// Whether it could be read.
    pub(crate) well_formed: bool,
    /// Its reward and length.
    pub(crate) sampled: Sampled,
    /// Mean entropy of the model over it, in nats.
    pub(crate) entropy: Option<f32>,
}

/// A step's outcome, as far as answers are concerned.
pub(crate) trait HasAnswers {
    fn answers(&self) -> impl Iterator<Item = Answered>;

    /// The rewards of each group that is learned from.
    fn groups(&self) -> Vec<Vec<f32>>;
}

/// The groups of samples of one prompt. A sample without another to compare it with is not a group.
pub(crate) fn of_prompts<K>(groups: BTreeMap<K, Vec<f32>>) -> impl Iterator<Item = Vec<f32>> {
    groups.into_values().filter(|rewards| rewards.len() > 1)
}

const PASS_RATE: Chart = chart(&SOLVING, "Pass rate").about("Share of the answers that are correct.");
const FORMAT_RATE: Chart = chart(&SOLVING, "Format rate").about("Share of the answers in which a solution was found.");
const NO_SIGNAL: Chart = chart(&SOLVING, "No signal")
    .about("Groups of samples that all got the same reward; a group estimator learns nothing from them.");
const RESPONSE_LENGTH: Chart = chart(&LEARNING, "Response length").about("Mean tokens of an answer.");

pub(crate) fn pass_rate<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("pass_rate", &[&PASS_RATE])
        .summary("Answers that are correct.")
        .of(|of| mean(of.answers().map(|answer| share(answer.correct))))
}

pub(crate) fn format_rate<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("format_rate", &[&FORMAT_RATE])
        .summary("Answers with a solution in them.")
        .signal(Signal::Format)
        .of(|of| mean(of.answers().map(|answer| share(answer.well_formed))))
}

pub(crate) fn no_signal_share<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::share("no_signal_share", &[&NO_SIGNAL])
        .summary("Groups of samples that all got the same reward.")
        .signal(Signal::NoSignal)
        .of(|of| mean(of.groups().iter().map(|rewards| share(!has_signal(rewards)))))
}

pub(crate) fn response_length<'t, T: HasAnswers + 't>() -> Measure<'t, T> {
    Metric::tokens("response_length", &[&RESPONSE_LENGTH])
        .summary("Mean length of an answer.")
        .of(|of| mean(of.answers().map(|answer| f64::from(answer.sampled.tokens))))
}

pub(crate) fn mean_reward<T: HasAnswers>(of: &T) -> f64 {
    mean(of.answers().map(|answer| f64::from(answer.sampled.reward)))
}

/// Mean entropy of the model over its answers, in nats.
pub(crate) fn mean_entropy<T: HasAnswers>(of: &T) -> f64 {
    mean(of.answers().filter_map(|answer| answer.entropy).map(f64::from))
}
