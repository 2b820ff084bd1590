//! Metrics of a run as curves.

use lyceum_store::metrics::MetricRow;

use super::{figure::Series, format::words};

/// The lowest level of downsampling at which a run at `step` has at most `points` points.
pub(crate) fn level_for(step: i32, points: u32) -> u8 {
    let steps = step.max(0).cast_unsigned() + 1;
    (0..8)
        .find(|&level| steps.div_ceil(4u32.pow(u32::from(level))) <= points)
        .unwrap_or(8)
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
    wanted
        .iter()
        .filter_map(curve)
        .filter(|series| series.points.iter().any(|(_, value)| value.is_some()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
