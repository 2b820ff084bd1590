//! The metrics of diversity over iterations, and what has changed between two (figure 2).

use lyceum_core::recipe::Metric;
use serde::Serialize;

use crate::frame::charts::{Chart, charts_of};
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::format::{capital, words};
use crate::subjects::diversity::page::{Iteration, Side};

/// The panels of one or two runs: those about the questions first. Lines of the second run are dashed.
pub(super) fn panels(sides: &[Side], recorded: &[String], metrics: &[Metric]) -> Vec<Figure> {
    let names: Vec<String> =
        recorded.iter().filter(|name| metrics.iter().any(|metric| metric.name == **name)).cloned().collect();
    let mut charts: Vec<Chart> = charts_of(&names, metrics).into_iter().flat_map(|group| group.charts).collect();
    charts.sort_by_key(|chart| chart.side.is_some());
    charts.iter().map(|chart| panel(chart, sides, metrics)).filter(|figure| !figure.is_empty()).collect()
}

fn panel(chart: &Chart, sides: &[Side], metrics: &[Metric]) -> Figure {
    let units: Vec<&'static str> = chart
        .metrics
        .iter()
        .filter_map(|name| metrics.iter().find(|metric| metric.name == *name))
        .map(|metric| metric.unit)
        .collect();
    let series = sides.iter().enumerate().flat_map(|(side, run)| {
        chart.metrics.iter().zip(&chart.labels).map(move |(metric, label)| {
            let label = match (sides.len(), chart.metrics.len()) {
                (1, _) => label.clone(),
                (_, 1) => run.label.clone(),
                _ => format!("{label}, {}", run.label),
            };
            curve(run, metric, label, side)
        })
    });
    Figure {
        id: format!("panel-{}", chart.name),
        title: chart.title.clone(),
        note: chart.about.to_owned(),
        x: "iteration".to_owned(),
        y: units.first().copied().unwrap_or_default().to_owned(),
        unit: units.first().copied().unwrap_or_default(),
        range: units.iter().all(|unit| *unit == "share").then_some([0.0, 1.0]),
        series: series.filter(|series| series.points.iter().any(|(_, y)| y.is_some())).collect(),
        ..Figure::default()
    }
}

fn curve(run: &Side, metric: &str, name: String, side: usize) -> Series {
    let at = |iteration: &crate::subjects::diversity::page::Iteration| {
        let value = iteration.values.get(metric).copied().flatten();
        (f64::from(iteration.iteration), value)
    };
    Series {
        name,
        style: if side == 0 { Style::Line } else { Style::Dashed },
        points: run.iterations.iter().map(at).collect(),
        ..Series::default()
    }
}

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
        self.change.map_or_else(|| "–".to_owned(), |change| format!("{:+.0} %", change * 100.0))
    }
}

impl Profile {
    /// This run's last measured iteration, against the same one of the other run or against its own first one; `None` if
    /// there are no two to compare.
    pub(super) fn of(sides: &[Side], metrics: &[Metric]) -> Option<Self> {
        let measured = |side: &'_ Side| -> Vec<Iteration> {
            let all = side.iterations.iter();
            all.filter(|iteration| iteration.measured_in.is_some()).cloned().collect()
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
        Some(Self { rows: metrics.iter().filter_map(row).collect(), before: name_before, after: name_after })
    }
}
