//! Held-out accuracy against that of the base, problem by problem.

use serde::{Deserialize, Serialize};

use crate::wilson::Interval;

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
    /// Compares shares of correct answers to the same problems, in the same order; `None` without problems, or if there
    /// are not equally many.
    ///
    /// The interval is that of Agresti and Min (2005, "Simple improved confidence intervals for comparing matched
    /// proportions"): half a problem is added to each of the four outcomes before the paired differences are averaged.
    /// Unlike the plain standard error it is never zero, even if no answer has changed.
    pub fn paired(against: Against, step: i32, reference: &[f64], value: &[f64]) -> Option<Self> {
        if value.is_empty() || value.len() != reference.len() {
            return None;
        }
        let n = value.len() as f64;
        let differences = || value.iter().zip(reference).map(|(value, reference)| value - reference);
        // Of the two problems added, one changed: half of it for the better, half for the worse.
        let padded = n + 2.0;
        let mean = differences().sum::<f64>() / padded;
        let squares = (differences().map(|each| each * each).sum::<f64>() + 1.0) / padded;
        let reach = Interval::Z_95 * ((squares - mean * mean) / padded).sqrt();
        Some(Self {
            against,
            step,
            value: value.iter().sum::<f64>() / n,
            reference: reference.iter().sum::<f64>() / n,
            difference: Interval {
                low: (mean - reach).max(-1.0),
                high: (mean + reach).min(1.0),
            },
            n: value.len() as u64,
        })
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
