//! A run in a comparison, with its curves, and the differences between configs.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Expense;
use lyceum_store::metrics::{self, MetricRow, MetricsQuery};
use lyceum_store::runs::RunDetail;
use lyceum_store::steps;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

use super::alignment::{Over, Progress};
use crate::api_error::ApiError;
use crate::frame::steps::level_for;
use crate::lab::Lab;

/// Runs whose curves have a band from minimum to maximum where a point covers several steps; those of more would hide one another.
const BANDS: usize = 4;
/// Maximum points of a curve.
const POINTS: u32 = 300;
/// The last steps in which a metric's newest value is searched for before it is taken from a point of the curve.
const NEWEST: u32 = 64;

/// A run in the comparison.
pub(super) struct Compared {
    pub(super) detail: RunDetail,
    /// Its name among the others.
    pub(super) label: String,
    pub(super) rows: Vec<MetricRow>,
    /// Its last steps, if `rows` are means over several.
    newest: Vec<MetricRow>,
    /// How far it had come after each of `rows`, unless curves are drawn over steps.
    pub(super) progress: Option<Progress>,
}

impl Compared {
    /// How far it had come after `step` steps.
    pub(super) fn after(&self, step: i32) -> Option<f64> {
        match &self.progress {
            Some(progress) => progress.after(&self.rows, step),
            None => Some(f64::from(step)),
        }
    }
}

impl Compared {
    /// Reads the curves of a run that is compared with others, `runs` in all, with 4^`level` steps per point.
    pub(super) async fn read(
        lab: &Lab,
        runs: usize,
        (detail, label, level, over): (RunDetail, String, u8, Over),
    ) -> Result<Self, ApiError> {
        let (db, id) = (lab.store.pool(), ExecutionId(detail.run.id));
        let query = MetricsQuery {
            run_alone: true,
            level,
            means_alone: runs > BANDS,
            limit: 4 * POINTS,
            ..MetricsQuery::default()
        };
        let rows = metrics::rows(db, id, &query).await?.rows;
        let newest = if level > 0 {
            let query =
                MetricsQuery { from: detail.run.step.max(0).cast_unsigned().saturating_sub(NEWEST), level: 0, ..query };
            metrics::rows(db, id, &query).await?.rows
        } else {
            Vec::new()
        };
        let place = lab.registry.expense_in(Expense::CompletionTokens, &detail.metrics);
        let progress = match over {
            Over::Steps => None,
            Over::Tokens => Some(Progress::by_tokens(&rows, place)),
            Over::Hours => Some(Progress::by_hours(&rows, &steps::seconds_with_past(db, id).await?)),
        };
        Ok(Self { detail, label, rows, newest, progress })
    }

    pub(super) fn place(&self, metric: &str) -> Option<usize> {
        self.detail.metrics.iter().position(|name| name == metric)
    }

    /// The last value of a metric.
    pub(super) fn last(&self, metric: &str) -> Option<f64> {
        let place = self.place(metric)?;
        let value = |row: &MetricRow| row.mean.get(place).copied().filter(|value| value.is_finite());
        self.newest.iter().rev().chain(self.rows.iter().rev()).find_map(value)
    }
}

/// The resolution of each run's curves. Runs of an arm share one, as they would have no points in common otherwise.
pub(super) fn levels(details: &[RunDetail], by_arm: bool) -> Vec<u8> {
    let longest = |detail: &RunDetail| {
        let of_arm = details.iter().filter(|other| by_arm && other.run.arm == detail.run.arm);
        of_arm.map(|other| other.run.step).max().unwrap_or(detail.run.step)
    };
    details.iter().map(|detail| level_for(longest(detail), POINTS)).collect()
}

/// A field with different values.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// Its JSON pointer (RFC 6901).
    pub(crate) pointer: String,
    /// Its dotted name, as overrides have it.
    pub(crate) name: String,
    /// Its value in each config, if present.
    pub(crate) values: Vec<Option<Value>>,
}

impl Difference {
    /// The values as text.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |value: &Option<Value>| match value {
            None => "–".to_owned(),
            Some(Value::String(text)) => crate::frame::text::excerpt(text, 200).text,
            Some(other) => crate::frame::text::excerpt(&other.to_string(), 200).text,
        };
        self.values.iter().map(text).collect()
    }
}

/// The fields in which `configs` differ, sorted by pointer. A list is one value unless its items are objects.
pub(crate) fn differences(configs: &[&Value]) -> Vec<Difference> {
    let mut pointers = BTreeSet::new();
    for config in configs {
        leaves(config, String::new(), &mut pointers);
    }
    let leaf = |value: &Value| !is_branch(value);
    let difference = |pointer: String| {
        let values: Vec<Option<Value>> =
            configs.iter().map(|config| config.pointer(&pointer).filter(|value| leaf(value)).cloned()).collect();
        values.windows(2).any(|pair| pair[0] != pair[1]).then(|| Difference { name: dotted(&pointer), pointer, values })
    };
    pointers.into_iter().filter_map(difference).collect()
}

/// The dotted name of what a pointer points to.
fn dotted(pointer: &str) -> String {
    let names = pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    names.collect::<Vec<_>>().join(".")
}

fn is_branch(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    }
}

fn leaves(value: &Value, at: String, found: &mut BTreeSet<String>) {
    match value {
        _ if !is_branch(value) => {
            found.insert(at);
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                leaves(value, format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_with_slashes_stay_whole() {
        assert_eq!(dotted("/a~1b/c~0d/0"), "a/b.c~d.0");
    }

    #[test]
    fn only_what_differs_is_named() {
        let one = json!({"seed": 1, "a/b": {"r": 8, "same": [1, 2]}, "members": [{"count": 2}], "list": [1]});
        let other = json!({"seed": 2, "a/b": {"r": 8, "same": [1, 2]}, "members": [{"count": 2}, {"count": 4}], "list": [1, 2]});
        let found: Vec<(String, Vec<String>)> = differences(&[&one, &other])
            .into_iter()
            .map(|difference| (difference.name.clone(), difference.texts()))
            .collect();
        let row = |pointer: &str, values: [&str; 2]| (pointer.to_owned(), values.map(str::to_owned).to_vec());
        assert_eq!(found, [row("list", ["[1]", "[1,2]"]), row("members.1.count", ["–", "4"]), row("seed", ["1", "2"])]);
        assert_eq!(differences(&[&one]), []);
        assert_eq!(differences(&[]), []);
    }
}
