//! How a critic's scores decide what enters a curriculum (SAGE, sections 4.2 and 4.3).

use super::{ScoreScale, reaches, score::number};

/// How the `reason` of a critic's attempt begins if it scores the problem itself.
pub const SCORE_OF_QUESTION: &str = "score of the question";
/// How it begins if the attempt scores a plan for the problem.
pub const SCORE_OF_PLAN: &str = "score of a plan";

/// The least scores that open a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gates {
    /// The score, from 0 to 1, from which a valid problem joins the growing set (α).
    pub question: f64,
    /// The score, from 0 to 1, from which a plan is shown to the solver (β); `None` if nothing is planned.
    pub plan: Option<f64>,
    /// How the critic's numbers become scores.
    pub scale: ScoreScale,
}

impl Gates {
    /// The score, from 0 to 1, that a critic gave with `answer`, the answer of its attempt; `None` is an attempt without
    /// a number.
    #[must_use]
    pub fn score(&self, answer: Option<&str>) -> f32 {
        self.scale.score(answer.and_then(number))
    }

    /// Whether a valid problem with this score joins the growing set.
    #[must_use]
    pub fn admits(&self, score: f32) -> bool {
        reaches(score, self.question)
    }

    /// Whether a plan with this score is shown to the solver.
    #[must_use]
    pub fn shows(&self, score: f32) -> bool {
        self.plan.is_some_and(|threshold| reaches(score, threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_open_from_8_and_4_of_10() {
        let gates = Gates {
            question: 0.7,
            plan: Some(0.3),
            scale: ScoreScale::Ten,
        };
        let opened = |opens: &dyn Fn(f32) -> bool| -> Vec<u32> {
            let number = |number: &u32| opens(gates.score(Some(&format!("{number}/10"))));
            (1..=10).filter(number).collect()
        };
        assert_eq!(opened(&|score| gates.admits(score)), [8, 9, 10]);
        assert_eq!(opened(&|score| gates.shows(score)), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(gates.score(None), 0.5);
        assert!(!Gates { plan: None, ..gates }.shows(1.0), "there is no plan to show");
    }
}
