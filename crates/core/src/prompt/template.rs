//! A recipe's declaration of the templates it renders.

use minijinja::Value;
use std::collections::BTreeMap;

use super::{CODE_TEMPLATES, PromptSet, reads_code};

/// The templates that a recipe may render, and how answers to them are read.
#[derive(Clone, Debug)]
pub struct Templates {
    pub all: Vec<Template>,
    /// Reads an answer to the template of this name.
    pub reads: fn(&PromptSet, &str, &str) -> Result<(), String>,
}

impl Templates {
    /// Those of problems of code.
    pub fn of_code() -> Self {
        Self { all: CODE_TEMPLATES.to_vec(), reads: reads_code }
    }
}

/// A template rendered by a recipe: its name, its purpose and the variables it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Lower-case letters, digits and `_`, such as `critique_plan`.
    pub name: &'static str,
    /// Its purpose, in one sentence; faults quote it.
    pub doc: &'static str,
    /// The variables it may use.
    pub variables: &'static [Variable],
}

impl Template {
    /// The name of its optional system message template: `critique_plan-system`.
    pub fn system(&self) -> String {
        system_name(self.name)
    }

    /// The names of its optional example, an earlier turn of the dialogue: the user's message and the answer to it.
    pub fn example(&self) -> [String; 2] {
        example_names(self.name)
    }

    /// The sample values for a trial rendering. With `is_scarce`, lists that may be empty are empty.
    pub(crate) fn samples(&self, is_scarce: bool) -> BTreeMap<&'static str, Value> {
        let sample = |variable: &Variable| (variable.name, variable.sample.value(is_scarce));
        self.variables.iter().map(sample).collect()
    }
}

/// No template name contains `-`, so this cannot collide. A `.` would be read as a step in the path of an override.
pub(super) fn system_name(template: &str) -> String {
    format!("{template}-system")
}

pub(super) fn example_names(template: &str) -> [String; 2] {
    [format!("{template}-example"), format!("{template}-example-answer")]
}

/// A variable of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the template.
    pub name: &'static str,
    pub sample: Sample,
}

/// The value used to try out a template before a run is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Text(&'static str),
    /// A number fixed by a run's parameters.
    Number(u64),
    /// A list of records, given by the fields of one, each with a sample text.
    Records {
        /// Name and text of each field.
        fields: &'static [(&'static str, &'static str)],
        /// Whether the list may be empty.
        may_be_empty: bool,
    },
}

impl Variable {
    pub const fn text(name: &'static str, sample: &'static str) -> Self {
        let sample = Sample::Text(sample);
        Self { name, sample }
    }

    pub const fn number(name: &'static str, sample: u64) -> Self {
        let sample = Sample::Number(sample);
        Self { name, sample }
    }

    /// A list of at least one record.
    pub const fn records(name: &'static str, fields: &'static [(&'static str, &'static str)]) -> Self {
        let may_be_empty = false;
        let sample = Sample::Records { fields, may_be_empty };
        Self { name, sample }
    }

    /// A list of records that may be empty.
    pub const fn any_records(name: &'static str, fields: &'static [(&'static str, &'static str)]) -> Self {
        let may_be_empty = true;
        let sample = Sample::Records { fields, may_be_empty };
        Self { name, sample }
    }
}

impl Sample {
    fn value(self, is_scarce: bool) -> Value {
        match self {
            Self::Text(text) => Value::from(text),
            Self::Number(number) => Value::from(number),
            Self::Records { may_be_empty, .. } if may_be_empty && is_scarce => Value::from(Vec::<Value>::new()),
            Self::Records { fields, .. } => {
                let record: BTreeMap<&str, &str> = fields.iter().copied().collect();
                Value::from(vec![Value::from(record)])
            }
        }
    }
}
