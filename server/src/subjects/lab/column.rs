//! Columns of one's choice, and conditions on them, by the names that addresses have for them.

use lyceum_store::runs::{Condition, Operand, Operator, RunColumn, RunValue};
use serde::Serialize;

use crate::frame::format;

/// Maximum number of columns of a table.
pub(crate) const COLUMNS: usize = 12;

/// A column that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Its name in addresses: `metrics.solve_rate`, `config.learning.epochs`, `sampler` or `benchmarks.humaneval`.
    pub(crate) name: String,
    /// What it shows.
    pub(crate) column: RunColumn,
}

impl Column {
    /// The column of this name.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let column = match name.split_once('.') {
            None if name == "sampler" => RunColumn::Sampler,
            Some(("metrics", metric)) if !metric.is_empty() => RunColumn::Metric(metric.to_owned()),
            Some(("benchmarks", suite)) if !suite.is_empty() => RunColumn::Benchmark(suite.to_owned()),
            Some(("difference", suite)) if !suite.is_empty() => RunColumn::Difference(suite.to_owned()),
            Some(("config", path)) if path.split('.').all(|field| !field.is_empty()) => {
                RunColumn::Parameter(path.split('.').map(str::to_owned).collect())
            }
            _ => {
                return Err(format!(
                    "`{name}` is not a column; valid are `metrics.NAME`, `config.FIELD`, such as `config.parameters.teachers`, \
                     `sampler`, `benchmarks.SUITE` and `difference.SUITE`"
                ));
            }
        };
        Ok(Self { name: name.to_owned(), column })
    }

    /// The columns in a list separated by commas, without repetitions.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse_all(names: &str) -> Result<Vec<Self>, String> {
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
    pub(crate) fn title(&self) -> String {
        match &self.column {
            RunColumn::Metric(name) => format::words(name),
            RunColumn::Parameter(path) => path.join("."),
            RunColumn::Sampler => "Sampler".to_owned(),
            RunColumn::Benchmark(suite) => format!("{} %", format::suite_title(suite)),
            RunColumn::Difference(suite) => format!("{} against the base, points", format::suite_title(suite)),
        }
    }

    pub(crate) fn number(&self, number: &f64) -> String {
        match self.column {
            RunColumn::Benchmark(_) => format::share(number),
            RunColumn::Difference(_) => format::points(number),
            RunColumn::Metric(_) | RunColumn::Parameter(_) | RunColumn::Sampler => format::value(number),
        }
    }

    /// A value as an axis shows it: scores in per cent.
    pub(crate) fn on_axis(&self, value: Value) -> Value {
        match (&self.column, value) {
            (RunColumn::Benchmark(_) | RunColumn::Difference(_), Value::Number(number)) => {
                Value::Number(100.0 * number)
            }
            (_, value) => value,
        }
    }

    pub(crate) fn value(&self, value: &Option<Value>) -> String {
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
pub(crate) enum Value {
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

/// Maximum number of conditions of a list.
const CONDITIONS: usize = 8;

/// The longer ones first, since they begin like the others.
const OPERATORS: [(&str, Operator); 6] = [
    ("!=", Operator::Unequal),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

/// The conditions in a list separated by commas.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse_all(text: &str) -> Result<Vec<Condition>, String> {
    let each = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let conditions: Vec<Condition> = each.map(parse).collect::<Result<_, _>>()?;
    match conditions.len() {
        0..=CONDITIONS => Ok(conditions),
        many => Err(format!("{many} conditions are too many; at most {CONDITIONS} are allowed")),
    }
}

fn parse(text: &str) -> Result<Condition, String> {
    let place = text.find(['!', '>', '<', '=']);
    let found = place.and_then(|place| {
        let (name, rest) = text.split_at(place);
        let operator = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign))?;
        Some((name.trim(), operator.1, rest[operator.0.len()..].trim()))
    });
    let Some((name, operator, value)) = found else {
        return Err(format!(
            "`{text}` is not a comparison; write it as `metrics.solve_rate>=0.5`, with =, !=, <, <=, > or >="
        ));
    };
    let column = Column::parse(name)?.column;
    let operand = match (value.parse::<f64>(), &column) {
        (Ok(number), _) if number.is_finite() => Operand::Number(number),
        (_, RunColumn::Parameter(_) | RunColumn::Sampler)
            if matches!(operator, Operator::Equal | Operator::Unequal) =>
        {
            Operand::Text(value.to_owned())
        }
        _ => return Err(format!("`{text}` compares with `{value}`, which is not a number")),
    };
    Ok(Condition { column, operator, operand })
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
            [&RunColumn::Metric("solve_rate".to_owned()), &path, &RunColumn::Benchmark("humaneval".to_owned())]
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

    #[test]
    fn conditions_are_read_with_their_operator() {
        let read = parse_all("metrics.solve_rate>=0.5, config.recipe!=azr,benchmarks.gsm8k<1,config.seed=7").unwrap();
        let read: Vec<(Operator, Operand)> = read.into_iter().map(|one| (one.operator, one.operand)).collect();
        assert_eq!(
            read,
            [
                (Operator::AtLeast, Operand::Number(0.5)),
                (Operator::Unequal, Operand::Text("azr".to_owned())),
                (Operator::Less, Operand::Number(1.0)),
                (Operator::Equal, Operand::Number(7.0)),
            ]
        );
        for (wrong, said) in [
            ("metrics.solve_rate", "is not a comparison"),
            ("metrics.solve_rate!0.5", "is not a comparison"),
            ("metrics.solve_rate=high", "is not a number"),
            ("metrics.solve_rate>NaN", "is not a number"),
            ("config.recipe>azr", "is not a number"),
            ("solve_rate=1", "is not a column"),
        ] {
            let fault = parse_all(wrong).unwrap_err();
            assert!(fault.contains(said), "{wrong}: {fault}");
        }
        assert!(parse_all(&["metrics.a=1"; 9].join(",")).unwrap_err().contains("at most 8"));
    }
}
