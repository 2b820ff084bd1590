//! The latest values of a metric, and how they differ from the baseline's.

use serde::Serialize;

use crate::frame::format::of_unit;

/// Values of one metric, a column for each run.
#[derive(Serialize)]
pub(super) struct Finals {
    pub(super) metric: String,
    #[serde(skip)]
    unit: &'static str,
    pub(super) values: Vec<Option<f64>>,
    /// What each differs by from the baseline's, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deltas: Vec<Option<f64>>,
}

impl Finals {
    pub(super) fn of(metric: &str, unit: &'static str, values: Vec<Option<f64>>, baseline: Option<usize>) -> Self {
        let base = baseline.map(|place| values[place]);
        let deltas = base.map(|base| values.iter().map(|value| Some((*value)? - base?)).collect());
        Self {
            metric: metric.to_owned(),
            unit,
            deltas: deltas.unwrap_or_default(),
            values,
        }
    }

    pub(super) fn value(&self, column: &usize) -> String {
        let value = self.values.get(*column).copied().flatten();
        value.map_or_else(|| "–".to_owned(), |value| of_unit(&value, self.unit))
    }

    /// The difference in a column, with its sign; none for the baseline itself.
    pub(super) fn delta(&self, column: &usize) -> Option<String> {
        let delta = (*self.deltas.get(*column)?)?;
        let shown = of_unit(&delta.abs(), self.unit);
        Some(match delta {
            0.0 => "=".to_owned(),
            0.0.. => format!("+{shown}"),
            _ => format!("−{shown}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_with_those_of_the_baseline() {
        let row = Finals::of("m", "", vec![Some(0.5), Some(0.75), None, Some(0.25)], Some(0));
        let shown = [0, 1, 2, 3].map(|column| row.delta(&column));
        assert_eq!(
            shown.each_ref().map(Option::as_deref),
            [Some("="), Some("+0.25"), None, Some("−0.25")]
        );
        let without = Finals::of("m", "", vec![None, Some(0.75)], Some(0));
        assert_eq!(without.delta(&1), None, "the baseline has no value");
        assert_eq!(Finals::of("m", "", vec![Some(0.5)], None).delta(&0), None);
    }
}
