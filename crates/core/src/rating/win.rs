//! What decides a matchup.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    contract::Winner,
    reward::{Solved, teacher_reward},
};

/// What decides a matchup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MatchupScore {
    /// A score for each role, and an update for each. The student's is the mean solve rate over the valid problems; it moves
    /// the student's rating, and how hard the teacher is to solve. The teacher's is ½ plus its mean reward (Eq. 2) over
    /// all proposals, within 0 and 1; it moves the teacher's rating, and how little reward the student gives. So a student
    /// that solves more never loses by it, and neither does a teacher that earns more. A student's rating stays if there
    /// is no valid problem.
    #[default]
    PerRole,
    /// One score for both: the student's is 1 less the teacher's mean reward (Eq. 2, an invalid proposal counting 0) over
    /// all proposals. An invalid or unsolved problem counts against the teacher, but also for the student: with 8 attempts
    /// at each problem, a student that gets better loses by it until it solves 26 % of them, and the best of a weak
    /// population is culled more often than the weakest.
    Reward,
    /// One score for both: the student's is the mean solve rate over the valid problems, or 1 if there are none. A problem that
    /// nobody solves counts for the teacher, and invalid ones do not count.
    SolveRate,
}

/// The teacher's mean reward (Eq. 2) over all proposals, from −1 to 1; 0 without proposals. `proposals` has the attempts at
/// each, `None` for invalid ones.
pub(super) fn mean_teacher_reward(proposals: &[Option<Solved>]) -> f64 {
    let rewards = proposals.iter().map(|solved| f64::from(teacher_reward(*solved)));
    rewards.sum::<f64>() / proposals.len().max(1) as f64
}

/// The mean solve rate over the valid proposals; `None` if all are invalid.
pub fn mean_solve_rate(proposals: &[Option<Solved>]) -> Option<f64> {
    let rates: Vec<f64> = proposals
        .iter()
        .flatten()
        .map(|solved| f64::from(solved.rate()))
        .collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// The student wins if it beats expectations: if its score exceeds `predicted`, its win probability before the matchup.
/// Otherwise the teacher wins (PopuLoRA, appendix 6; `docs/DEVIATIONS.md` explains this reading).
pub fn winner(student_score: f64, predicted: f64) -> Winner {
    match student_score > predicted {
        true => Winner::Student,
        false => Winner::Teacher,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expectation_itself_is_the_teachers() {
        assert_eq!(winner(0.5, 0.5), Winner::Teacher);
        assert_eq!(winner(0.51, 0.5), Winner::Student);
        assert_eq!(winner(0.2, 0.9), Winner::Teacher);
        assert_eq!(winner(0.2, 0.1), Winner::Student);
    }
}
