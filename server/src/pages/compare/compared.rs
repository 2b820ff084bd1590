//! A run in a comparison, with its curves.

use lyceum_core::{id::ExecutionId, recipe::Expense};
use lyceum_store::{
    metrics::{self, MetricRow, MetricsQuery},
    runs::RunDetail,
    steps,
};

use super::alignment::{Over, Progress};
use crate::{api_error::ApiError, frame::steps::level_for, lab::Lab};

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
            let query = MetricsQuery {
                from: detail.run.step.max(0).cast_unsigned().saturating_sub(NEWEST),
                level: 0,
                ..query
            };
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
        Ok(Self {
            detail,
            label,
            rows,
            newest,
            progress,
        })
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
    details
        .iter()
        .map(|detail| level_for(longest(detail), POINTS))
        .collect()
}
