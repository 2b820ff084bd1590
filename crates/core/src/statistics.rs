//! Intervals of shares and of effects, and the decisions that follow from them (docs/STATISTICS.md).

mod decision;
mod effect;
mod rate;
mod sequential;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "simulation"))]
pub mod trial;

pub use self::decision::{Expectation, Outcome, holm};
pub use self::effect::{Effect, Pairing, Sample, Undecidable};
pub use self::rate::{Clusters, Interval};
pub use self::sequential::{Decision, MeanDifference, SequentialTest, Standing};

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Student's t distribution with `freedom` degrees of freedom; the normal distribution if that is infinite.
fn student(freedom: f64) -> Option<StudentsT> {
    // Beyond this the two differ by less than the last digit of any interval that is shown.
    StudentsT::new(0.0, 1.0, freedom.min(1e6)).ok()
}

/// The quantile of Student's t at `probability`; not a number without a degree of freedom.
fn quantile(freedom: f64, probability: f64) -> f64 {
    student(freedom).map_or(f64::NAN, |student| student.inverse_cdf(probability))
}

/// The probability of a t at least as far from 0 on either side.
fn two_sided(t: f64, freedom: f64) -> f64 {
    student(freedom).map_or(1.0, |student| (2.0 * student.cdf(-t.abs())).min(1.0))
}
