//! The steps of a run on a page: which are shown, how many make a point, and the curves of metrics over them.

use lyceum_store::metrics::MetricRow;
use lyceum_store::steps::Stretch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::frame::figure::Series;
use crate::frame::format::words;

/// The first and the last step shown; all by default.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steps {
    #[schemars(range(max = 2_147_483_647))]
    pub(crate) from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    pub(crate) to: Option<u32>,
}

impl Steps {
    /// All steps.
    pub(crate) const ALL: Self = Self { from: None, to: None };

    /// The steps of a run at `step`, with a width that gives curves at most `points` points.
    ///
    /// # Errors
    /// 400 if the last step is before the first.
    pub(crate) fn of_run(self, step: i32, points: u32) -> Result<Stretch, ApiError> {
        let from = self.from.unwrap_or(0);
        if self.to.is_some_and(|to| to < from) {
            let detail = "the last step must not be before the first, `from`";
            return Err(ApiError::invalid_query(vec![("to".to_owned(), detail.to_owned())]));
        }
        let all = Stretch::whole(stride(self.length(step), points));
        Ok(Stretch { from, to: self.to.unwrap_or(all.to), ..all })
    }

    /// Whether the range is limited.
    pub(crate) fn is_part(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The number of steps between the first and the last one shown of a run at `step`.
    pub(crate) fn length(self, step: i32) -> i32 {
        let last = self.to.unwrap_or(u32::MAX).min(step.max(0).cast_unsigned());
        i32::try_from(last.saturating_sub(self.from.unwrap_or(0))).unwrap_or(i32::MAX)
    }
}

/// Approximate maximum points of a curve.
pub(crate) const POINTS: u32 = 400;
/// Maximum members named on a page.
pub(crate) const MEMBERS: u32 = 2000;

/// Steps per point of a curve, so that a run at `step` has at most `points` points.
pub(crate) fn stride(step: i32, points: u32) -> u32 {
    (step.max(0).cast_unsigned() + 1).div_ceil(points.max(1))
}

/// The lowest level of downsampling at which a run at `step` has at most `points` points.
pub(crate) fn level_for(step: i32, points: u32) -> u8 {
    let steps = step.max(0).cast_unsigned() + 1;
    (0..8).find(|&level| steps.div_ceil(4u32.pow(u32::from(level))) <= points).unwrap_or(8)
}

/// The curve of the metric at `place` in the rows, with a band from minimum to maximum if points cover several steps.
pub(crate) fn curve(rows: &[MetricRow], place: usize, name: &str) -> Series {
    let middle = |row: &MetricRow| f64::from(row.step) + f64::from(row.width - 1) / 2.0;
    let at = |values: &[f64]| values.get(place).copied().filter(|value| value.is_finite());
    Series {
        name: name.to_owned(),
        points: rows.iter().map(|row| (middle(row), at(&row.mean))).collect(),
        band: rows
            .iter()
            .filter_map(|row| Some((middle(row), at(row.min.as_deref()?)?, at(row.max.as_deref()?)?)))
            .collect(),
        ..Series::default()
    }
}

/// The curves of those of the `wanted` metrics that the run has.
pub(crate) fn of(rows: &[MetricRow], metrics: &[String], wanted: &[&str]) -> Vec<Series> {
    let place = |name: &&str| metrics.iter().position(|metric| metric == name);
    let curve = |name: &&str| Some(curve(rows, place(name)?, &words(name)));
    wanted.iter().filter_map(curve).filter(|series| series.points.iter().any(|(_, value)| value.is_some())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_long_run_has_its_own_steps() {
        let steps = |from, to| Steps { from, to }.of_run(1999, 400);
        assert_eq!(steps(None, None).unwrap().width, 5);
        assert_eq!(steps(Some(100), Some(300)).unwrap().width, 1);
        assert_eq!(steps(Some(1900), None).unwrap().width, 1);
        assert_eq!(steps(Some(5000), None).unwrap().width, 1);
        assert!(steps(Some(2), Some(1)).is_err());
    }

    #[test]
    fn a_curve_has_no_more_points_than_asked_for() {
        assert_eq!([0, 399, 400, 2000].map(|step| stride(step, 400)), [1, 1, 2, 6]);
        assert_eq!(stride(-1, 400), 1);
    }

    #[test]
    fn a_row_of_several_steps_has_a_band_in_their_middle() {
        let row = |step, width, value: f64, ends: Option<(f64, f64)>| MetricRow {
            step,
            width,
            member_id: None,
            mean: vec![0.0, value],
            min: ends.map(|(low, _)| vec![0.0, low]),
            max: ends.map(|(_, high)| vec![0.0, high]),
        };
        let rows = [row(0, 4, 0.5, Some((0.25, 0.75))), row(4, 1, f64::NAN, None)];
        let series = curve(&rows, 1, "a");
        assert_eq!(series.points, [(1.5, Some(0.5)), (4.0, None)]);
        assert_eq!(series.band, [(1.5, 0.25, 0.75)]);
        assert_eq!(curve(&rows, 7, "none").points[0].1, None);
    }

    #[test]
    fn long_runs_are_downsampled() {
        assert_eq!([0, 399, 400, 2000].map(|step| level_for(step, 400)), [0, 0, 1, 2]);
    }
}
