//! The evidence for a verdict: early and late values of metrics, and held-out accuracy against that of the base.

use serde::{Deserialize, Serialize};

use crate::contract::Metric;
use crate::statistics::{Effect, Interval, Pairing, Sample, Undecidable};

// Early and late values of the metrics that a verdict looks at.

/// Values that are averaged at either end of a run.
const VALUES: usize = 16;
/// Fewer values than this say nothing.
const FEWEST: usize = 8;
/// Steps at either end of a run among which these values are: metrics of a stage have values in its steps only.
pub const SPAN: u32 = 64;

/// What a verdict looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Signal {
    /// The share of problems that taught nothing, as all answers to them were rewarded alike.
    NoSignal,
    /// The policy's entropy, in nats.
    Entropy,
    /// The share of answers in the required form.
    Format,
    /// How much proposals repeat others or what was shown, as the recipe measures it.
    Duplicates,
    /// The share of proposals that are valid.
    Valid,
    /// The share of attempts at new problems that succeed.
    Solved,
    /// The share of new problems that are neither too easy nor too hard.
    InBand,
}

crate::named!(Signal, "a signal of a verdict");

impl Signal {
    /// The signals of a run that records these ones of its recipe's `metrics`, each with the place of its metric.
    /// `compares`: whether answers to a problem are compared with one another ([`Recipe::compares_answers`]); without, a
    /// problem whose answers earn the same may teach, and [`Signal::NoSignal`] says nothing.
    ///
    /// [`Recipe::compares_answers`]: crate::contract::Recipe::compares_answers
    pub fn all_in(metrics: &[Metric], recorded: &[String], compares: bool) -> Vec<(Self, usize)> {
        let told = Self::ALL.into_iter().filter(|signal| compares || *signal != Self::NoSignal);
        told.filter_map(|signal| Some((signal, signal.metric_in(metrics)?.place_in(recorded)?))).collect()
    }

    /// The one of `metrics` that carries it.
    pub fn metric_in(self, metrics: &[Metric]) -> Option<&Metric> {
        metrics.iter().find(|metric| metric.signal == Some(self))
    }
}

/// A signal's mean at the beginning and at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Over the first values; none while these are the last ones too.
    pub early: Option<f64>,
    /// Over the last values.
    pub late: f64,
}

impl Trend {
    /// The trend of `values`, in the order of steps; `None` if there are too few. Missing values (NaN) do not count.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        if values.len() < FEWEST {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let late = values.len().saturating_sub(VALUES);
        Some(Self { early: (late >= FEWEST).then(|| mean(&values[..late.min(VALUES)])), late: mean(&values[late..]) })
    }
}

/// The trends of all signals; none where a run does not record one, or too few values of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings([Option<Trend>; Signal::ALL.len()]);

impl Readings {
    pub fn of(&self, signal: Signal) -> Option<Trend> {
        self.0[signal as usize]
    }

    /// These readings with a trend of a signal.
    #[must_use]
    pub fn with(mut self, signal: Signal, trend: Option<Trend>) -> Self {
        self.0[signal as usize] = trend;
        self
    }
}

// Held-out accuracy against that of the base, problem by problem.

/// What the latest accuracy is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The base model.
    Base,
    /// The run's own first measurement, after this many steps.
    Step(i32),
}

/// Accuracy on the same problems, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What it is compared with.
    pub against: Against,
    /// Finished steps when it was measured.
    pub step: i32,
    /// The share of problems solved.
    pub value: f64,
    /// The share solved by what it is compared with.
    pub reference: f64,
    /// The interval of 95 % of the difference.
    pub difference: Interval,
    /// Problems.
    pub n: u64,
}

impl Comparison {
    /// Compares shares of correct answers to the same problems, in the same order, by the interval of [`Effect`]; `None` without
    /// problems, or if there are not equally many. One problem says nothing: its interval is from −1 to 1.
    pub fn paired(against: Against, step: i32, reference: &[f64], value: &[f64]) -> Option<Self> {
        let difference = match Effect::of(Sample::Fixed(value), Sample::Fixed(reference), Pairing::Independent) {
            Ok(effect) => Interval { low: effect.low.max(-1.0), high: effect.high.min(1.0) },
            Err(Undecidable::Alike) => Interval { low: -1.0, high: 1.0 },
            Err(_) => return None,
        };
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
        Some(Self { against, step, value: mean(value), reference: mean(reference), difference, n: value.len() as u64 })
    }

    /// The difference that was measured.
    pub fn gain(&self) -> f64 {
        self.value - self.reference
    }

    /// Whether the whole interval is above zero.
    pub fn is_better(&self) -> bool {
        self.difference.low > 0.0
    }

    /// Whether the whole interval is below zero.
    pub fn is_worse(&self) -> bool {
        self.difference.high < 0.0
    }
}
