//! How much a page holds, whatever the run's length.

/// Points of a curve, at most about so many.
pub(crate) const POINTS: u32 = 400;
/// Members that a page names, at most.
pub(crate) const MEMBERS: u32 = 2000;

/// Every how many steps of a run that is at `step` a curve has a point, so that it has `points` of them at most.
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
