//! Which runs a list is about.

use lyceum_core::id::ExperimentId;
use sqlx::{Postgres, QueryBuilder};

use super::{LastSteps, RunColumn};
use crate::executions::State;
use crate::page::{and, prefix, substring};

/// Selects runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub state: Option<State>,
    pub recipe: Option<String>,
    pub experiment: Option<ExperimentId>,
    pub arm: Option<String>,
    pub tag: Option<String>,
    /// Whose name starts with this, ignoring case.
    pub name: Option<String>,
    /// With this anywhere in the name, the note or a tag, ignoring case.
    pub text: Option<String>,
    /// With these values in columns.
    pub conditions: Vec<Condition>,
    /// How many of the last steps metrics are averaged over, in conditions and in the order of a list.
    pub last: LastSteps,
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    /// Not equal; runs without a value are not unequal to any.
    Unequal,
    Less,
    /// Less or equal.
    AtMost,
    Greater,
    /// Greater or equal.
    AtLeast,
}

impl Operator {
    fn sql(self) -> &'static str {
        match self {
            Self::Equal => " = ",
            Self::Unequal => " <> ",
            Self::Less => " < ",
            Self::AtMost => " <= ",
            Self::Greater => " > ",
            Self::AtLeast => " >= ",
        }
    }
}

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Number(f64),
    /// A text, as a parameter may have.
    Text(String),
}

/// A condition on a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: RunColumn,
    pub operator: Operator,
    pub operand: Operand,
}

impl RunFilter {
    /// Adds the conditions to `query`, which selects from executions `e` with their runs `r`.
    pub(super) fn push(&self, query: &mut QueryBuilder<Postgres>) {
        and(query, "e.state = ", self.state);
        and(query, "e.recipe = ", self.recipe.clone());
        and(query, "r.experiment_id = ", self.experiment.map(|id| id.0));
        and(query, "r.arm = ", self.arm.clone());
        and(query, "r.tags @> ", self.tag.clone().map(|tag| vec![tag]));
        and(query, "lower(r.name) LIKE ", self.name.as_deref().map(prefix));
        if let Some(text) = self.text.as_deref().map(substring) {
            query
                .push(" AND (r.name ILIKE ")
                .push_bind(text.clone())
                .push(" OR r.note ILIKE ")
                .push_bind(text.clone())
                .push(" OR EXISTS (SELECT FROM unnest(r.tags) AS tag WHERE tag ILIKE ")
                .push_bind(text)
                .push("))");
        }
        for condition in &self.conditions {
            query.push(" AND ");
            match &condition.operand {
                Operand::Number(number) => {
                    condition.column.push_number(query);
                    query.push(condition.operator.sql()).push_bind(*number);
                }
                Operand::Text(text) => {
                    condition.column.push_text(query);
                    query.push(condition.operator.sql()).push_bind(text.clone());
                }
            }
        }
    }
}
