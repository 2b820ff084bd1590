//! The winner of a matchup.

use crate::recipe::Winner;

/// The student wins if it beats expectations: if the mean solve rate over the teacher's valid problems exceeds
/// `predicted`, its win probability before the matchup. Otherwise the teacher wins. A teacher without a valid problem
/// loses (PopuLoRA, appendix 6; `docs/DEVIATIONS.md` explains this reading).
pub fn winner(solve_rate: Option<f64>, predicted: f64) -> Winner {
    match solve_rate {
        Some(rate) if rate <= predicted => Winner::Teacher,
        _ => Winner::Student,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expectation_itself_is_the_teachers() {
        assert_eq!(winner(Some(0.5), 0.5), Winner::Teacher);
        assert_eq!(winner(Some(0.51), 0.5), Winner::Student);
        assert_eq!(winner(Some(0.2), 0.9), Winner::Teacher);
        assert_eq!(winner(Some(0.2), 0.1), Winner::Student);
        assert_eq!(winner(None, 0.1), Winner::Student);
    }
}
