//! Limits on the content of a page, whatever the run's length.

/// Approximate maximum points of a curve.
pub(crate) const POINTS: u32 = 400;
/// Maximum members named on a page.
pub(crate) const MEMBERS: u32 = 2000;

/// Steps per point of a curve, so that a run at `step` has at most `points` points.
pub(crate) fn stride(step: i32, points: u32) -> u32 {
    (step.max(0).cast_unsigned() + 1).div_ceil(points.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_no_more_points_than_asked_for() {
        assert_eq!([0, 399, 400, 2000].map(|step| stride(step, 400)), [1, 1, 2, 6]);
        assert_eq!(stride(-1, 400), 1);
    }
}
