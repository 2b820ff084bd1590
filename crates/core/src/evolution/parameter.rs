//! Parameters of operators.

use serde::Serialize;

/// A parameter of an operator: a number within a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name, as in the paper's formula.
    pub name: &'static str,
    /// Its default value: the paper's.
    pub default: f64,
    /// The smallest valid value.
    pub min: f64,
    /// The largest valid value, or an exclusive upper bound if `below_max`.
    pub max: f64,
    /// Whether `max` itself is invalid.
    pub below_max: bool,
    /// Whether only whole numbers are valid.
    pub integer: bool,
    /// What it does, in one sentence.
    pub description: &'static str,
}

impl Parameter {
    /// A real number from `min` to `max`.
    pub(super) const fn real(
        name: &'static str,
        default: f64,
        (min, max): (f64, f64),
        description: &'static str,
    ) -> Self {
        Self {
            name,
            default,
            min,
            max,
            below_max: false,
            integer: false,
            description,
        }
    }

    /// The same parameter with `max` excluded.
    pub(super) const fn below_max(self) -> Self {
        Self {
            below_max: true,
            ..self
        }
    }

    /// The same parameter restricted to whole numbers.
    pub(super) const fn integer(self) -> Self {
        Self { integer: true, ..self }
    }

    /// Whether `value` is valid.
    pub fn admits(&self, value: f64) -> bool {
        let within = value >= self.min
            && if self.below_max {
                value < self.max
            } else {
                value <= self.max
            };
        within && (!self.integer || value.fract() == 0.0)
    }

    /// The valid values, as text.
    pub fn range(&self) -> String {
        let numbers = if self.integer { "whole numbers" } else { "numbers" };
        let end = if self.below_max { "to below" } else { "to" };
        format!("{numbers} from {} {end} {}", self.min, self.max)
    }
}
