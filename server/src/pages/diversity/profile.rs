//! What has changed: two iterations of a run, or the same iteration of two runs (figure 2).

use lyceum_core::recipe::Metric;
use serde::Serialize;

use super::{Iteration, Side};
use crate::frame::format::{capital, words};

/// Metrics before and after.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Profile {
    /// What `before` is: an iteration of this run, or of the other one.
    pub(super) before: String,
    pub(super) after: String,
    /// The metrics with both values.
    pub(super) rows: Vec<Row>,
}

/// A metric.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// Its name.
    pub(super) metric: &'static str,
    pub(super) unit: &'static str,
    /// The value of the other run, or of the first iteration.
    pub(super) before: f64,
    /// The value of this run's last iteration.
    pub(super) after: f64,
    /// The relative change; absent if the value before is 0.
    pub(super) change: Option<f64>,
}

impl Row {
    pub(super) fn label(&self) -> String {
        capital(&words(self.metric))
    }

    /// The change in per cent, with its sign.
    pub(super) fn percent(&self) -> String {
        self.change
            .map_or_else(|| "–".to_owned(), |change| format!("{:+.0} %", change * 100.0))
    }
}

impl Profile {
    /// This run's last measured iteration, against the same one of the other run or against its own first one; `None` if
    /// there are no two to compare.
    pub(super) fn of(sides: &[Side], metrics: &[Metric]) -> Option<Self> {
        let measured = |side: &'_ Side| -> Vec<Iteration> {
            let all = side.iterations.iter();
            all.filter(|iteration| iteration.measured_in.is_some())
                .cloned()
                .collect()
        };
        let own = measured(sides.first()?);
        let (before, after, names) = match sides.get(1) {
            Some(other) => {
                let theirs = measured(other);
                let common = own.iter().rev().find_map(|after| {
                    let before = theirs.iter().find(|before| before.iteration == after.iteration)?;
                    Some((before.clone(), after.clone()))
                });
                let (before, after) = common?;
                let names = [other, &sides[0]].map(|side| format!("{}, iteration {}", side.label, after.iteration));
                (before, after, names)
            }
            None => {
                let (before, after) = (own.first()?.clone(), own.last()?.clone());
                if before.iteration == after.iteration {
                    return None;
                }
                let names = [&before, &after].map(|iteration| format!("Iteration {}", iteration.iteration));
                (before, after, names)
            }
        };
        let [name_before, name_after] = names;
        let row = |metric: &Metric| {
            let value = |of: &Iteration| of.values.get(metric.name).copied().flatten();
            let (before, after) = (value(&before)?, value(&after)?);
            Some(Row {
                metric: metric.name,
                unit: metric.unit,
                before,
                after,
                change: (before != 0.0).then(|| (after - before) / before.abs()),
            })
        };
        Some(Self {
            rows: metrics.iter().filter_map(row).collect(),
            before: name_before,
            after: name_after,
        })
    }
}
