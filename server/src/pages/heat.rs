//! Maps values to eleven classes of the stylesheet, `heat-0` to `heat-10`, since the policy forbids inline colours.

/// The class of `value` between `low` and `high`; `heat-none` without a value.
pub(crate) fn heat(value: Option<f64>, (low, high): (f64, f64)) -> String {
    match value.filter(|value| value.is_finite()) {
        None => "heat-none".to_owned(),
        Some(value) => {
            let span = if high > low { high - low } else { 1.0 };
            format!("heat-{:.0}", ((value - low) / span).clamp(0.0, 1.0) * 10.0)
        }
    }
}

/// The smallest and the largest of `values`.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_spread_over_the_range() {
        let classes =
            [Some(0.0), Some(0.52), Some(1.0), Some(7.0), None, Some(f64::NAN)].map(|value| heat(value, (0.0, 1.0)));
        assert_eq!(
            classes,
            ["heat-0", "heat-5", "heat-10", "heat-10", "heat-none", "heat-none"]
        );
        assert_eq!(heat(Some(2.0), (2.0, 2.0)), "heat-0");
        assert_eq!(range([2.0, f64::NAN, -1.0].into_iter()), Some((-1.0, 2.0)));
        assert_eq!(range(std::iter::empty()), None);
    }
}
