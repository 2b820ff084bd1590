//! Who wins a matchup, and by what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    recipe::Winner,
    reward::{Solved, teacher_reward},
};

/// What decides a matchup: the student's score, from 0 to 1, which is compared with its predicted win probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchupScore {
    /// 1 less the teacher's mean reward (Eq. 2, an invalid proposal counting 0) over all proposals: an invalid or unsolved
    /// problem counts against the teacher.
    #[default]
    Reward,
    /// The mean solve rate over the valid problems, or 1 if there are none: a problem that nobody solves counts for the
    /// teacher, and invalid ones do not count.
    SolveRate,
}

impl MatchupScore {
    /// The student's score. `proposals` has the attempts at each proposal, `None` for invalid ones.
    pub fn of_student(self, proposals: &[Option<Solved>]) -> f64 {
        match self {
            Self::Reward => {
                let rewards = proposals
                    .iter()
                    .map(|solved| f64::from(teacher_reward(*solved).max(0.0)));
                1.0 - rewards.sum::<f64>() / proposals.len().max(1) as f64
            }
            Self::SolveRate => mean_solve_rate(proposals).unwrap_or(1.0),
        }
    }
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

    fn solved(solved: u32) -> Option<Solved> {
        Some(Solved { solved, attempts: 8 })
    }

    #[test]
    fn the_expectation_itself_is_the_teachers() {
        assert_eq!(winner(0.5, 0.5), Winner::Teacher);
        assert_eq!(winner(0.51, 0.5), Winner::Student);
        assert_eq!(winner(0.2, 0.9), Winner::Teacher);
        assert_eq!(winner(0.2, 0.1), Winner::Student);
    }

    #[test]
    fn unsolvable_and_invalid_problems_count_against_the_teacher() {
        let mut unsolvable = vec![None; 71];
        unsolvable.push(solved(0));
        let honest = [solved(2), solved(4), None, solved(6)];
        let [by_reward, by_rate] = [MatchupScore::Reward, MatchupScore::SolveRate]
            .map(|score| [&unsolvable[..], &honest[..]].map(|proposals| score.of_student(proposals)));
        assert_eq!(by_reward, [1.0, 1.0 - (0.75 + 0.5 + 0.25) / 4.0]);
        assert_eq!(
            by_rate,
            [0.0, 0.5],
            "by the solve rate, one unsolvable problem beats any student"
        );
    }

    #[test]
    fn a_teacher_without_a_valid_problem_loses() {
        for score in [MatchupScore::Reward, MatchupScore::SolveRate] {
            for proposals in [&[][..], &[None, None]] {
                assert_eq!(score.of_student(proposals), 1.0);
            }
        }
    }
}
