//! Sparklines as SVG.

/// Width of the drawing, in its own units.
const WIDTH: f64 = 96.0;
/// Height of the drawing.
const HEIGHT: f64 = 20.0;

/// The points of a `<polyline>` over `values`, scaled to `low` and `high`.
pub(crate) fn points(values: &[f64], (low, high): (f64, f64)) -> String {
    let span = if high > low { high - low } else { 1.0 };
    let last = values.len().saturating_sub(1).max(1) as f64;
    let point = |(place, value): (usize, &f64)| {
        let x = place as f64 / last * (WIDTH - 4.0) + 2.0;
        let y = HEIGHT - 2.0 - ((value - low) / span).clamp(0.0, 1.0) * (HEIGHT - 4.0);
        format!("{x:.1},{y:.1}")
    };
    values.iter().enumerate().map(point).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_run_from_left_to_right_and_upwards() {
        assert_eq!(points(&[0.0, 10.0, 5.0], (0.0, 10.0)), "2.0,18.0 48.0,2.0 94.0,10.0");
        assert_eq!(points(&[3.0], (3.0, 3.0)), "2.0,18.0");
        assert_eq!(points(&[], (0.0, 1.0)), "");
    }
}
