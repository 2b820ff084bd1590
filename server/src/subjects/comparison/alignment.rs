//! What curves are drawn over: steps, tokens generated, or hours of work.

use lyceum_store::metrics::MetricRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::frame::figure::Series;

/// The x axis of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Deserialize, Serialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Over {
    #[default]
    Steps,
    /// Tokens that the run has generated so far, in millions.
    Tokens,
    /// Hours that its steps have taken so far, without pauses between them.
    Hours,
}

lyceum_core::named!(Over, "an x axis");

impl Over {
    /// The label of the axis.
    pub(super) fn axis(self) -> &'static str {
        match self {
            Self::Steps => "step",
            Self::Tokens => "million tokens generated",
            Self::Hours => "hours",
        }
    }

    /// Words for a form.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens generated",
            Self::Hours => "time",
        }
    }
}

/// How far a run had come after each of some rows of its metrics, in the unit of the axis; none where that is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress(Vec<Option<f64>>);

impl Progress {
    /// By tokens: the sum over the rows of the metric at `place`. A row that lacks it adds nothing.
    pub(super) fn by_tokens(rows: &[MetricRow], place: Option<usize>) -> Self {
        let tokens = |row: &MetricRow| {
            let value = place.and_then(|place| row.mean.get(place)).copied();
            value.filter(|value| value.is_finite()).unwrap_or_default() * f64::from(row.width)
        };
        let sums = rows.iter().scan(0.0, |sum, row| {
            *sum += tokens(row);
            Some(Some(*sum / 1e6))
        });
        Self(sums.collect())
    }

    /// By time: `durations` has the seconds of each step of which they are known, in order. Rows that begin before the first
    /// of these have no place: they are what a fork took over from a run that was deleted.
    pub(super) fn by_hours(rows: &[MetricRow], durations: &[(i32, f64)]) -> Self {
        let after = durations.iter().scan(0.0, |sum, (step, seconds)| {
            *sum += seconds;
            Some((*step, *sum / 3600.0))
        });
        let after: Vec<(i32, f64)> = after.collect();
        let hours = |row: &MetricRow| {
            let ended = after.partition_point(|(step, _)| *step < row.step + row.width);
            let (_, hours) = after.get(ended.checked_sub(1)?)?;
            (after.first()?.0 <= row.step).then_some(*hours)
        };
        Self(rows.iter().map(hours).collect())
    }

    /// That after the last of the `rows` that ended within the first `step` steps.
    pub(super) fn after(&self, rows: &[MetricRow], step: i32) -> Option<f64> {
        match rows.partition_point(|row| row.step + row.width <= step) {
            0 => (step == 0).then_some(0.0),
            ended => *self.0.get(ended - 1)?,
        }
    }

    /// `curve`, whose points are of the rows, over this progress.
    pub(super) fn align(&self, curve: Series) -> Series {
        let places: Vec<f64> = curve.points.iter().map(|(x, _)| *x).collect();
        let at = |x: f64| places.binary_search_by(|place| place.total_cmp(&x)).ok();
        let moved = |x: f64| at(x).and_then(|row| *self.0.get(row)?);
        Series {
            points: curve.points.iter().filter_map(|(x, y)| Some((moved(*x)?, *y))).collect(),
            band: curve.band.iter().filter_map(|(x, low, high)| Some((moved(*x)?, *low, *high))).collect(),
            ..curve
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<MetricRow> {
        let row = |(step, width, tokens): (i32, i32, f64)| MetricRow {
            step,
            width,
            member_id: None,
            mean: vec![tokens, 0.5],
            min: None,
            max: None,
        };
        [(0, 4, 1e6), (4, 1, f64::NAN), (5, 1, 2e6)].into_iter().map(row).collect()
    }

    #[test]
    fn tokens_add_up_over_the_steps_of_a_row() {
        assert_eq!(Progress::by_tokens(&rows(), Some(0)), Progress([4.0, 4.0, 6.0].map(Some).into()));
        assert_eq!(Progress::by_tokens(&rows(), None), Progress(vec![Some(0.0); 3]));
    }

    #[test]
    fn a_step_within_a_row_is_where_the_row_before_ended() {
        let progress = Progress::by_tokens(&rows(), Some(0));
        let after = [0, 3, 4, 5, 6, 7].map(|step| progress.after(&rows(), step));
        assert_eq!(after, [Some(0.0), None, Some(4.0), Some(4.0), Some(6.0), Some(6.0)]);
    }

    #[test]
    fn time_is_that_of_the_last_step_of_a_row() {
        let durations: Vec<(i32, f64)> = (0..5).map(|step| (step, 900.0)).collect();
        // The run's sixth step has not ended.
        assert_eq!(Progress::by_hours(&rows(), &durations), Progress([1.0, 1.25, 1.25].map(Some).into()));
        assert_eq!(Progress::by_hours(&rows(), &[]), Progress(vec![None; 3]));
    }

    #[test]
    fn what_came_before_the_first_known_duration_has_no_place() {
        let of_fork = [(4, 1800.0), (5, 3600.0)];
        assert_eq!(Progress::by_hours(&rows(), &of_fork), Progress(vec![None, Some(0.5), Some(1.5)]));
        let within_the_first_row = [(2, 1800.0), (3, 1800.0), (4, 1800.0)];
        assert_eq!(Progress::by_hours(&rows(), &within_the_first_row), Progress(vec![None, Some(1.5), Some(1.5)]));
    }

    #[test]
    fn points_and_band_move_together() {
        let curve = Series {
            points: vec![(1.5, Some(0.1)), (4.0, None), (5.0, Some(0.3))],
            band: vec![(1.5, 0.0, 0.2)],
            ..Series::default()
        };
        let moved = Progress([4.0, 4.5, 6.0].map(Some).into()).align(curve.clone());
        assert_eq!(moved.points, [(4.0, Some(0.1)), (4.5, None), (6.0, Some(0.3))]);
        assert_eq!(moved.band, [(4.0, 0.0, 0.2)]);
        let later = Progress(vec![None, Some(0.5), Some(1.5)]).align(curve);
        assert_eq!(later.points, [(0.5, None), (1.5, Some(0.3))]);
        assert_eq!(later.band, []);
    }
}
