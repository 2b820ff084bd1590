//! Columns of one's choice, by the names that addresses have for them.

use lyceum_store::runs::{RunColumn, RunValue};
use serde::Serialize;

use crate::{frame::format, pages::evaluations::title};

/// Columns of a table, at most.
pub(super) const COLUMNS: usize = 12;

/// A column that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pages) struct Column {
    /// Its name in addresses: `metrics.solve_rate`, `config.learning.epochs` or `benchmarks.humaneval`.
    pub(in crate::pages) name: String,
    /// What it shows.
    pub(in crate::pages) column: RunColumn,
}

impl Column {
    /// The column of this name.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let column = match name.split_once('.') {
            Some(("metrics", metric)) if !metric.is_empty() => RunColumn::Metric(metric.to_owned()),
            Some(("benchmarks", suite)) if !suite.is_empty() => RunColumn::Benchmark(suite.to_owned()),
            Some(("difference", suite)) if !suite.is_empty() => RunColumn::Difference(suite.to_owned()),
            Some(("config", path)) if path.split('.').all(|field| !field.is_empty()) => {
                RunColumn::Parameter(path.split('.').map(str::to_owned).collect())
            }
            _ => {
                return Err(format!(
                    "`{name}` is not a column; valid are `metrics.NAME`, `config.FIELD`, such as `config.parameters.teachers`, \
                     `benchmarks.SUITE` and `difference.SUITE`"
                ));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            column,
        })
    }

    /// The columns in a list separated by commas, without repetitions.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::pages) fn parse_all(names: &str) -> Result<Vec<Self>, String> {
        let mut columns: Vec<Self> = Vec::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let column = Self::parse(name)?;
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        match columns.len() {
            0..=COLUMNS => Ok(columns),
            many => Err(format!("{many} columns are too many; at most {COLUMNS} are shown")),
        }
    }

    /// The words above it.
    pub(in crate::pages) fn title(&self) -> String {
        match &self.column {
            RunColumn::Metric(name) => format::words(name),
            RunColumn::Parameter(path) => path.join("."),
            RunColumn::Benchmark(suite) => format!("{} %", title(suite)),
            RunColumn::Difference(suite) => format!("{} against the base, points", title(suite)),
        }
    }

    pub(in crate::pages) fn number(&self, number: &f64) -> String {
        match self.column {
            RunColumn::Benchmark(_) => format::share(number),
            RunColumn::Difference(_) => format::points(number),
            RunColumn::Metric(_) | RunColumn::Parameter(_) => format::value(number),
        }
    }

    /// A value as an axis shows it: scores in per cent.
    pub(in crate::pages) fn on_axis(&self, value: Value) -> Value {
        match (&self.column, value) {
            (RunColumn::Benchmark(_) | RunColumn::Difference(_), Value::Number(number)) => {
                Value::Number(100.0 * number)
            }
            (_, value) => value,
        }
    }

    pub(super) fn value(&self, value: &Option<Value>) -> String {
        match value {
            None => "–".to_owned(),
            Some(Value::Number(number)) => self.number(number),
            Some(Value::Text(text)) => crate::inert(text),
        }
    }
}

/// A value of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(in crate::pages) enum Value {
    Number(f64),
    Text(String),
}

impl From<RunValue> for Value {
    fn from(value: RunValue) -> Self {
        match value {
            RunValue::Number(number) => Self::Number(number),
            RunValue::Text(text) => Self::Text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_their_names() {
        let read =
            Column::parse_all("metrics.solve_rate, config.lora.r,benchmarks.humaneval,metrics.solve_rate,").unwrap();
        let columns: Vec<&RunColumn> = read.iter().map(|column| &column.column).collect();
        let path = RunColumn::Parameter(vec!["lora".to_owned(), "r".to_owned()]);
        assert_eq!(
            columns,
            [
                &RunColumn::Metric("solve_rate".to_owned()),
                &path,
                &RunColumn::Benchmark("humaneval".to_owned())
            ]
        );
        for wrong in ["solve_rate", "metrics.", "config..r", "metric.solve_rate", "config."] {
            let said = Column::parse_all(wrong).unwrap_err();
            assert!(said.contains(wrong) && said.contains("metrics.NAME"), "{said}");
        }
        let many: Vec<String> = (0..13).map(|n| format!("metrics.m{n}")).collect();
        assert!(Column::parse_all(&many.join(",")).unwrap_err().contains("at most 12"));
        assert_eq!(Column::parse_all("").unwrap(), []);
    }

    #[test]
    fn scores_are_per_cent_and_missing_values_a_dash() {
        let score = Column::parse("benchmarks.gsm8k").unwrap();
        assert_eq!(score.value(&Some(Value::Number(0.316_7))), "31.7");
        let metric = Column::parse("metrics.entropy").unwrap();
        assert_eq!(metric.value(&Some(Value::Number(0.316_7))), "0.3167");
        assert_eq!(metric.value(&None), "–");
        assert_eq!(metric.title(), "entropy");
    }
}
