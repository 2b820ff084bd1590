//! Operators, apart from their arithmetic.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::fault::nearest;

/// The purpose of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Family {
    /// Changes one parent.
    Mutation,
    /// Mixes two parents.
    Crossover,
    /// Changes nothing of interest: the control for the others.
    Control,
}

crate::named!(Family, "a family of operators");

/// An operator of the catalogue (PopuLoRA, appendix 8).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Operator {
    /// Its name in configs, payloads and lineages, such as `X1`.
    pub name: &'static str,
    /// The paper's name for it, such as `DARE`.
    pub title: &'static str,
    /// Its purpose.
    pub family: Family,
    /// How many parents it takes.
    pub arity: usize,
    /// Whether it is random: two seeds give two different children.
    pub stochastic: bool,
    /// Whether it is one of the eight used by the paper's population.
    pub live: bool,
    /// What it does, in one sentence.
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    /// Two parameters; the first must not exceed the second.
    #[serde(skip)]
    pub(super) ordered: Option<(&'static str, &'static str)>,
    /// A parameter that must be less than the rank of the parents.
    #[serde(skip)]
    pub(super) below_rank: Option<&'static str>,
}

/// Why an operator cannot be applied as requested.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorError {
    /// There is no such operator.
    #[error("operator `{name}` is not in the catalogue{}; valid are {valid}", hint(.nearest))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The operator that was most likely meant.
        nearest: Option<&'static str>,
        /// All valid names.
        valid: String,
    },
    /// The operator has no such parameter.
    #[error("operator {operator} has no parameter `{name}`{}; {valid}", hint(.nearest))]
    UnknownParameter {
        operator: &'static str,
        /// The name that was given.
        name: String,
        /// The parameter that was most likely meant.
        nearest: Option<&'static str>,
        /// The operator's parameters, as text.
        valid: String,
    },
    /// A parameter's value is not valid.
    #[error("operator {operator}: `{name}` is {value}; valid are {valid}")]
    OutOfRange {
        operator: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The valid values, as text.
        valid: String,
    },
    /// The number of parents is wrong.
    #[error("operator {operator} takes {arity} {}; {given} {} given", plural(*.arity, "parent"), were(*.given))]
    Arity {
        operator: &'static str,
        /// The number of parents it takes.
        arity: usize,
        /// The number of parents given.
        given: usize,
    },
}

impl Operator {
    /// The value of every parameter: the one in `given`, or else the default.
    ///
    /// # Errors
    /// The first unknown parameter name or invalid value.
    pub fn resolve(&self, given: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>, OperatorError> {
        if let Some(name) = given.keys().find(|name| self.parameter(name).is_none()) {
            let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(OperatorError::UnknownParameter {
                operator: self.name,
                name: name.clone(),
                nearest: self.nearest_parameter(name),
                valid: match names.is_empty() {
                    true => "it has none".to_owned(),
                    false => format!("valid are {}", names.join(", ")),
                },
            });
        }
        let mut values = BTreeMap::new();
        for parameter in self.parameters {
            let value = given.get(parameter.name).copied().unwrap_or(parameter.default);
            if !parameter.admits(value) {
                return Err(self.out_of_range(parameter.name, value, parameter.range()));
            }
            values.insert(parameter.name.to_owned(), value);
        }
        match self.ordered {
            Some((low, high)) if values[low] > values[high] => {
                let valid = format!("numbers up to `{high}`, which is {}", values[high]);
                Err(self.out_of_range(low, values[low], valid))
            }
            _ => Ok(values),
        }
    }

    /// Checks that its parameters, those in `given` and otherwise the defaults, fit parents of `rank`.
    ///
    /// # Errors
    /// The first parameter that is not valid, or too large for the rank.
    pub fn check_rank(&self, given: &BTreeMap<String, f64>, rank: u32) -> Result<(), OperatorError> {
        let values = self.resolve(given)?;
        match self.below_rank {
            Some(name) if values[name] >= f64::from(rank) => {
                let most = rank.saturating_sub(1);
                let valid = format!("whole numbers from 0 to {most}, as the rank of the adapters is {rank}");
                Err(self.out_of_range(name, values[name], valid))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the number of parents equals its arity.
    ///
    /// # Errors
    /// `given` is another number.
    pub fn check_arity(&self, given: usize) -> Result<(), OperatorError> {
        if given == self.arity {
            return Ok(());
        }
        Err(OperatorError::Arity { operator: self.name, arity: self.arity, given })
    }

    fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    fn nearest_parameter(&self, name: &str) -> Option<&'static str> {
        let names: &'static [Parameter] = self.parameters;
        nearest(name, names.iter().map(|parameter| parameter.name))
    }

    fn out_of_range(&self, name: &'static str, value: f64, valid: String) -> OperatorError {
        OperatorError::OutOfRange { operator: self.name, name, value, valid }
    }
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

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
        Self { name, default, min, max, below_max: false, integer: false, description }
    }

    /// The same parameter with `max` excluded.
    pub(super) const fn below_max(self) -> Self {
        Self { below_max: true, ..self }
    }

    /// The same parameter restricted to whole numbers.
    pub(super) const fn integer(self) -> Self {
        Self { integer: true, ..self }
    }

    /// Whether `value` is valid.
    pub fn admits(&self, value: f64) -> bool {
        let within = value >= self.min && if self.below_max { value < self.max } else { value <= self.max };
        within && (!self.integer || value.fract() == 0.0)
    }

    /// The valid values, as text.
    pub fn range(&self) -> String {
        let numbers = if self.integer { "whole numbers" } else { "numbers" };
        let end = if self.below_max { "to below" } else { "to" };
        format!("{numbers} from {} {end} {}", self.min, self.max)
    }
}
