//! The metrics of diversity over iterations, a panel for each chart.

use lyceum_core::recipe::Metric;

use super::Side;
use crate::frame::{
    charts::{Chart, charts_of},
    figure::{Figure, Series, Style},
};

/// The panels of one or two runs: those about the questions first. Lines of the second run are dashed.
pub(super) fn panels(sides: &[Side], recorded: &[String], metrics: &[Metric]) -> Vec<Figure> {
    let names: Vec<String> = recorded
        .iter()
        .filter(|name| metrics.iter().any(|metric| metric.name == **name))
        .cloned()
        .collect();
    let mut charts: Vec<Chart> = charts_of(&names, metrics)
        .into_iter()
        .flat_map(|group| group.charts)
        .collect();
    charts.sort_by_key(|chart| chart.side.is_some());
    charts
        .iter()
        .map(|chart| panel(chart, sides, metrics))
        .filter(|figure| !figure.is_empty())
        .collect()
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
        series: series
            .filter(|series| series.points.iter().any(|(_, y)| y.is_some()))
            .collect(),
        ..Figure::default()
    }
}

fn curve(run: &Side, metric: &str, name: String, side: usize) -> Series {
    let at = |iteration: &super::Iteration| {
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
