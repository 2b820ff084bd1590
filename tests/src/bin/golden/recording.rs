//! The rows of golden runs, as a file.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use crate::difference::{self, Difference};
use crate::key::Key;
use crate::renames;
use crate::tables::TABLES;

/// A row, one line of the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) run: String,
    pub(crate) table: String,
    pub(crate) key: Key,
    pub(crate) fields: Value,
}

/// Rows by run, table and key.
#[derive(Default)]
pub(crate) struct Recording(BTreeMap<(String, String, Key), Value>);

impl Recording {
    /// Adds a row; false if the key already exists.
    pub(crate) fn insert(&mut self, row: Row) -> bool {
        self.0.insert((row.run, row.table, row.key), row.fields).is_none()
    }

    /// Writes one line of JSON per row, in order.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(cannot)?);
        for ((run, table, key), fields) in &self.0 {
            let line = serde_json::json!({ "run": run, "table": table, "key": key, "fields": fields });
            writeln!(file, "{line}").with_context(cannot)?;
        }
        file.flush().with_context(cannot)
    }

    /// Reads the output of [`Recording::write`].
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut recording = Self::default();
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let place = || format!("line {number} of {}", path.display());
            let row = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
            recording.insert(row);
        }
        Ok(recording)
    }

    /// Renames fields of older builds to their current names.
    pub(crate) fn modernise(&mut self) -> Result<()> {
        let renames = renames::shipped()?;
        for ((_, table, _), fields) in &mut self.0 {
            for rename in renames.iter().filter(|rename| rename.table == *table) {
                rename.apply(fields);
            }
            fields.sort_all_objects();
        }
        Ok(())
    }

    /// The differences, in the order in which the runs produced them.
    pub(crate) fn differences(&self, new: &Self) -> Vec<Difference> {
        let mut differences = Vec::new();
        let places = self.0.keys().chain(new.0.keys().filter(|place| !self.0.contains_key(place)));
        for place @ (run, table, key) in places {
            for (path, old, new) in difference::between(self.0.get(place), new.0.get(place)) {
                let fields = self.0.get(place);
                differences.push(Difference {
                    run: run.clone(),
                    step: fields.and_then(|fields| fields.get("step")).and_then(Value::as_i64),
                    table: table.clone(),
                    key: key.clone(),
                    path,
                    old,
                    new,
                });
            }
        }
        differences.sort_by_key(|difference| {
            let table = TABLES.iter().position(|table| table.name == difference.table);
            // Rows without a step are summaries, so they come last.
            (difference.run.clone(), difference.step.unwrap_or(i64::MAX), table)
        });
        differences
    }
}

impl fmt::Display for Recording {
    /// Rows by table and run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<&str> = self.0.keys().map(|(run, _, _)| run.as_str()).collect();
        runs.dedup();
        write!(f, "{:20}", "rows")?;
        runs.iter().try_for_each(|run| write!(f, "{run:>14}"))?;
        for table in &TABLES {
            write!(f, "\n{:20}", table.name)?;
            for run in &runs {
                let is_here = |(of, name, _): &&(String, String, Key)| of == run && name == table.name;
                write!(f, "{:>14}", self.0.keys().filter(is_here).count())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Part;
    use serde_json::json;

    fn recording(rows: &[(&str, i64, Value)]) -> Recording {
        let mut recording = Recording::default();
        for (table, step, fields) in rows {
            let row = Row {
                run: "demo".to_owned(),
                table: (*table).to_owned(),
                key: Key(vec![Part::Number(*step)]),
                fields: fields.clone(),
            };
            assert!(recording.insert(row));
        }
        recording
    }

    #[test]
    fn a_recording_survives_its_file() {
        let recorded = recording(&[
            ("steps", 2, json!({ "step": 2, "total": 7 })),
            ("steps", 10, json!({ "step": 10, "total": 0.1 })),
        ]);
        let file = tempfile::NamedTempFile::new().unwrap();
        recorded.write(file.path()).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.lines().next().unwrap().contains("\"total\":7"), "10 does not come before 2");
        let read = Recording::read(file.path()).unwrap();
        assert!(recorded.differences(&read).is_empty());
        assert_eq!(recorded.to_string(), read.to_string());
    }

    #[test]
    fn the_earliest_difference_comes_first_and_says_where_and_what() {
        let old = recording(&[
            ("runs", 0, json!({ "attempts": 9 })),
            ("steps", 4, json!({ "step": 4, "total": 7 })),
            ("work", 3, json!({ "step": 3, "payload": { "requests": [{ "seed": 5 }] } })),
        ]);
        let new = recording(&[
            ("runs", 0, json!({ "attempts": 8 })),
            ("work", 3, json!({ "step": 3, "payload": { "requests": [{ "seed": 6 }] } })),
        ]);
        let found: Vec<String> = old.differences(&new).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "demo, work 3, payload/requests/0/seed: 5 became 6",
                "demo, steps 4: the row is gone",
                "demo, runs 0, attempts: 9 became 8",
            ]
        );
    }
}
