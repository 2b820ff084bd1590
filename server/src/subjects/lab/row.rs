//! A run in the table: what it is, and its results.

use lyceum_core::statistics::Interval;
use lyceum_store::runs::{Outcome, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use uuid::Uuid;

use super::column::{Column, Value};
use super::parallel::Coordinates;
use super::verdicts::Headline;
use crate::frame::figure::sparkline;
use crate::frame::format;

/// A run, its values in the columns, and what it came to.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) run: Run,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) values: BTreeMap<String, Option<Value>>,
    #[serde(skip)]
    pub(super) shown: Vec<String>,
    pub(super) verdict: Option<Headline>,
    pub(super) outcome: Option<Outcome>,
    /// How long workers worked on its finished steps.
    pub(super) worker_seconds: Option<f64>,
    #[serde(skip)]
    pub(super) is_ticked: bool,
}

impl Row {
    /// The row as a line across the columns.
    pub(super) fn coordinates(&self, columns: &[Column]) -> Coordinates {
        let value = |column: &Column| {
            let own = self.values.get(&column.name).cloned().flatten();
            own.map(|value| column.on_axis(value))
        };
        Coordinates {
            name: self.run.name.clone(),
            address: format!("/runs/{}", self.run.id),
            values: columns.iter().map(value).collect(),
        }
    }

    /// The difference from the base with its interval.
    pub(super) fn difference(&self) -> Option<String> {
        Some(format::difference(&self.outcome.as_ref()?.result.comparison()?))
    }

    /// On how many problems of which suite it was measured.
    pub(super) fn measured(&self) -> Option<(String, &str)> {
        let result = &self.outcome.as_ref()?.result;
        Some((format::count(&i64::from(result.rows)), format::suite_title(&result.of_suite)))
    }

    pub(super) fn curve(&self) -> Option<Curve> {
        self.outcome.as_ref().map(Curve::of)
    }
}

/// Held-out accuracy over steps, small, over the interval of the base.
pub(super) struct Curve {
    /// The points of a polyline.
    pub(super) points: String,
    /// The upper edge of the base's band and its height; none without a base.
    pub(super) band: Option<(f64, f64)>,
    /// It in words.
    pub(super) label: String,
}

impl Curve {
    fn of(outcome: &Outcome) -> Self {
        let result = &outcome.result;
        let base = result.reference.filter(|_| result.reference_step.is_none());
        let band = base.and_then(|base| interval_of_base(base, result.rows));
        let ends = band.into_iter().flat_map(|band| [band.low, band.high]);
        let all = || outcome.scores.iter().copied().chain(base).chain(ends.clone());
        let scale = (all().fold(1.0, f64::min), all().fold(0.0, f64::max));
        let values: Vec<f64> = base.into_iter().chain(outcome.scores.iter().copied()).collect();
        let height = |value: f64| -> f64 {
            let point = sparkline(&[value], scale);
            point.split_once(',').and_then(|(_, y)| y.parse().ok()).unwrap_or(0.0)
        };
        let last = outcome.scores.last().copied().unwrap_or_default();
        let mut label = format!("{} over steps: {}", format::suite_title(&result.of_suite), format::percent(&last));
        if let Some(base) = base {
            label.push_str(&format!(", the base {}", format::percent(&base)));
        }
        Self {
            points: sparkline(&values, scale),
            band: band.map(|band: Interval| (height(band.high), (height(band.low) - height(band.high)).max(1.0))),
            label,
        }
    }
}

/// Wilson's interval of 95 % of the base's accuracy.
pub(super) fn interval_of_base(base: f64, rows: i32) -> Option<Interval> {
    let rows = u64::from(rows.unsigned_abs());
    Interval::wilson((base * rows as f64).round() as u64, rows, Interval::Z_95)
}

/// Rows under one head.
pub(super) struct Section<'r> {
    /// The experiment; none for runs without one.
    pub(super) experiment: Option<(Uuid, &'r str)>,
    pub(super) rows: Vec<&'r Row>,
}

/// `rows` by experiment, in the order in which these come first. Runs without one are together.
pub(super) fn by_experiment(rows: &[Row]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section> = Vec::new();
    for row in rows {
        let own = row.run.experiment_id;
        match sections.iter_mut().find(|one| one.experiment.map(|(id, _)| id) == own) {
            Some(section) => section.rows.push(row),
            None => sections.push(Section {
                experiment: own.map(|id| (id, row.run.experiment.as_deref().unwrap_or_default())),
                rows: vec![row],
            }),
        }
    }
    sections
}
