//! Differences between two recordings.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

use crate::key::Key;

/// Maximum number of differences to print.
const SHOWN: usize = 20;
/// Maximum characters of a value to print.
const LETTERS: usize = 200;

/// A field or a whole row that differs.
pub(crate) struct Difference {
    pub(crate) run: String,
    pub(crate) step: Option<i64>,
    pub(crate) table: String,
    pub(crate) key: Key,
    /// The field, from the row down; empty for a whole row.
    pub(crate) path: String,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}", self.run, self.table, self.key)?;
        match (&self.old, &self.new) {
            (Some(_), None) if self.path.is_empty() => write!(f, ": the row is gone"),
            (None, Some(_)) if self.path.is_empty() => write!(f, ": the row is new"),
            (Some(old), None) => write!(f, ", {}: {} is gone", self.path, short(old)),
            (None, Some(new)) => write!(f, ", {}: {} is new", self.path, short(new)),
            (Some(old), Some(new)) => write!(f, ", {}: {} became {}", self.path, short(old), short(new)),
            (None, None) => Ok(()),
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let mut letters = text.chars();
    let mut start: String = letters.by_ref().take(LETTERS).collect();
    if letters.next().is_some() {
        start.push('…');
    }
    start
}

/// The first differences, and their counts by run and table.
pub(crate) fn report(differences: &[Difference]) -> String {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for difference in differences {
        *counts.entry((&difference.run, &difference.table)).or_default() += 1;
    }
    let shown = differences.iter().take(SHOWN).map(ToString::to_string);
    let beyond = differences.len().saturating_sub(SHOWN);
    let rest = (beyond > 0).then(|| format!("… and {beyond} more"));
    let counted = counts.iter().map(|((run, table), count)| format!("{run}, {table}: {count} fields or rows differ"));
    shown.chain(rest).chain(counted).collect::<Vec<_>>().join("\n")
}

/// A field's path and both values.
type Pair = (String, Option<Value>, Option<Value>);

/// The innermost parts in which two values differ.
pub(crate) fn between(old: Option<&Value>, new: Option<&Value>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    collect(String::new(), old, new, &mut pairs);
    pairs
}

fn collect(path: String, old: Option<&Value>, new: Option<&Value>, pairs: &mut Vec<Pair>) {
    if old == new {
        return;
    }
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
    };
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let fields = old.keys().chain(new.keys().filter(|field| !old.contains_key(*field)));
            for field in fields {
                collect(below(field), old.get(field), new.get(field), pairs);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                collect(below(&index.to_string()), old.get(index), new.get(index), pairs);
            }
        }
        _ => pairs.push((path, old.cloned(), new.cloned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_smallest_parts_are_named() {
        let old = json!({ "a": { "b": [1, { "c": 2 }] }, "gone": null });
        let new = json!({ "a": { "b": [1, { "c": 3 }, 4] }, "new": 5 });
        let expected = [
            ("a/b/1/c".to_owned(), Some(json!(2)), Some(json!(3))),
            ("a/b/2".to_owned(), None, Some(json!(4))),
            ("gone".to_owned(), Some(json!(null)), None),
            ("new".to_owned(), None, Some(json!(5))),
        ];
        assert_eq!(between(Some(&old), Some(&new)), expected);
        assert_eq!(between(Some(&old), Some(&old)), []);
    }

    #[test]
    fn a_report_counts_what_it_does_not_show() {
        let difference = |index: usize| Difference {
            run: "demo".to_owned(),
            step: None,
            table: "work".to_owned(),
            key: Key(Vec::new()),
            path: index.to_string(),
            old: Some(json!("x".repeat(LETTERS + 1))),
            new: None,
        };
        let report = report(&(0..SHOWN + 3).map(difference).collect::<Vec<_>>());
        assert!(report.contains("… and 3 more\ndemo, work: 23 fields or rows differ"), "{report}");
        assert!(report.lines().all(|line| line.chars().count() < LETTERS + 50));
    }
}
