//! What a recipe declares about the templates it renders.

use minijinja::Value;
use std::collections::BTreeMap;

/// A template that a recipe renders: its name, its purpose and the variables it may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Lower-case letters, digits and `_`, such as `critique_plan`.
    pub name: &'static str,
    /// What it is for, in one sentence; faults quote it.
    pub doc: &'static str,
    /// The variables it may show.
    pub variables: &'static [Variable],
}

impl Template {
    /// The name of the template of its system message, which a set may have: `critique_plan-system`.
    pub fn system(&self) -> String {
        system_name(self.name)
    }

    /// The values it is tried with. With `is_scarce`, lists that may be empty are.
    pub(super) fn samples(&self, is_scarce: bool) -> BTreeMap<&'static str, Value> {
        let sample = |variable: &Variable| (variable.name, variable.sample.value(is_scarce));
        self.variables.iter().map(sample).collect()
    }
}

/// No template has a `-` in its own name, so this cannot collide. A `.` would be taken for a step in the path of an override.
pub(super) fn system_name(template: &str) -> String {
    format!("{template}-system")
}

/// A variable of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the template.
    pub name: &'static str,
    /// A value of its form.
    pub sample: Sample,
}

/// The value that a template is tried with before a run is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A text.
    Text(&'static str),
    /// A number, which a run's parameters fix.
    Number(u64),
    /// A list of records: the fields of one, with a text for each.
    Records {
        /// Name and text of each field.
        fields: &'static [(&'static str, &'static str)],
        /// Whether a prompt may have to show none.
        may_be_empty: bool,
    },
}

impl Variable {
    /// A text.
    pub const fn text(name: &'static str, sample: &'static str) -> Self {
        let sample = Sample::Text(sample);
        Self { name, sample }
    }

    /// A number.
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
