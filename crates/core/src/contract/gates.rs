//! How a critic's scores decide what joins the growing set (SAGE, sections 4.2 and 4.3).

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

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

/// The score where the critic gives no valid number.
const NEUTRAL: f32 = 0.5;

/// How the critic's numbers become scores from 0 to 1. Any other number, or none, is 0.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreScale {
    /// Numbers up to 1 are scores as they are, and those up to 10 are counted from 1 (Eq. 2): 1 is the best score, and 2
    /// nearly the worst.
    #[default]
    UnitOrTen,
    /// Numbers are from 1 to 10, and 1 is the worst.
    Ten,
}

impl ScoreScale {
    /// The score of a number (Norm, Eq. 2).
    pub(crate) fn score(self, number: Option<f64>) -> f32 {
        let Some(number) = number else { return NEUTRAL };
        match self {
            Self::UnitOrTen if (0.0..=1.0).contains(&number) => number as f32,
            _ if (1.0..=10.0).contains(&number) => ((number - 1.0) / 9.0) as f32,
            _ => NEUTRAL,
        }
    }
}

/// Whether a score reaches a threshold. Scores are rounded, so that 0.7 is reached by the number 7.3.
fn reaches(score: f32, threshold: f64) -> bool {
    f64::from(score) >= threshold - 1e-6
}

/// The number that a text begins with, as in `7`, `7.5`, `7/10`, `**7**`, `Score: 7`, `7,5` and `7e-1`; `None` if it begins with
/// none, or with one that can be read in two ways, such as `1,000`.
pub(crate) fn number(text: &str) -> Option<f64> {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?ix)^ [\s*_`\[(\x22']* (?: (?:score|rating) [\s*_`]* [:=]? [\s*_`\[(]* )?
            ([-+]? \d+) (?: [.,] (\d+) )? (?: e ([-+]?\d{1,2}) )? (.?.?)",
        )
        .ok()
    });
    // Full-width digits and marks, as Chinese and Japanese keyboards write them.
    let narrow = |letter: char| match letter {
        '\u{ff0b}'..='\u{ff19}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        other => other,
    };
    let text: String = text.chars().take(100).map(narrow).collect();
    let found = NUMBER.as_ref()?.captures(&text)?;
    let part = |place| found.get(place).map_or("", |part| part.as_str());
    let (whole, decimals, power, rest) = (part(1), part(2), part(3), part(4));
    let goes_on = rest.starts_with(['.', ',']) && rest[1..].starts_with(|letter: char| letter.is_ascii_digit());
    let is_thousands = decimals.len() == 3 && text.contains(&format!("{whole},{decimals}"));
    let is_word = rest.starts_with(char::is_alphanumeric);
    if goes_on || is_thousands || is_word {
        return None;
    }
    format!("{whole}.{decimals}0e{}", if power.is_empty() { "0" } else { power }).parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gates_open_from_8_and_4_of_10() {
        let gates = Gates { question: 0.7, plan: Some(0.3), scale: ScoreScale::Ten };
        let opened = |opens: &dyn Fn(f32) -> bool| -> Vec<u32> {
            let number = |number: &u32| opens(gates.score(Some(&format!("{number}/10"))));
            (1..=10).filter(number).collect()
        };
        assert_eq!(opened(&|score| gates.admits(score)), [8, 9, 10]);
        assert_eq!(opened(&|score| gates.shows(score)), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(gates.score(None), 0.5);
        assert!(!Gates { plan: None, ..gates }.shows(1.0), "there is no plan to show");
    }

    #[test]
    fn every_edge_of_both_scales() {
        for (text, paper, ten) in [
            ("0", 0.0, 0.5),
            ("0.4", 0.4, 0.5),
            ("1", 1.0, 0.0),
            ("2", 1.0 / 9.0, 1.0 / 9.0),
            ("3", 2.0 / 9.0, 2.0 / 9.0),
            ("4", 3.0 / 9.0, 3.0 / 9.0),
            ("7", 6.0 / 9.0, 6.0 / 9.0),
            ("8", 7.0 / 9.0, 7.0 / 9.0),
            ("10", 1.0, 1.0),
            ("11", 0.5, 0.5),
            ("-1", 0.5, 0.5),
            ("7/10", 6.0 / 9.0, 6.0 / 9.0),
            ("8 out of 10: clear", 7.0 / 9.0, 7.0 / 9.0),
            ("8.", 7.0 / 9.0, 7.0 / 9.0),
            ("8-10", 7.0 / 9.0, 7.0 / 9.0),
            ("eight", 0.5, 0.5),
            ("", 0.5, 0.5),
            ("1e1", 1.0, 1.0),
            ("**8**", 7.0 / 9.0, 7.0 / 9.0),
            ("Score: 8", 7.0 / 9.0, 7.0 / 9.0),
            ("**Rating:** 8/10", 7.0 / 9.0, 7.0 / 9.0),
            ("[[8]]", 7.0 / 9.0, 7.0 / 9.0),
            ("7,5", 6.5 / 9.0, 6.5 / 9.0),
            ("7, since", 6.0 / 9.0, 6.0 / 9.0),
            ("１０", 1.0, 1.0),
            ("-0.5", 0.5, 0.5),
            ("1,000", 0.5, 0.5),
            ("7th", 0.5, 0.5),
            (".5", 0.5, 0.5),
            ("NaN", 0.5, 0.5),
            ("1.2.3", 0.5, 0.5),
        ] {
            let scores = [ScoreScale::UnitOrTen, ScoreScale::Ten].map(|scale| scale.score(number(text)));
            for (score, wanted) in scores.iter().zip([paper, ten]) {
                assert!((score - wanted).abs() < 1e-6, "{text}: {scores:?}");
            }
        }
        assert_eq!(ScoreScale::UnitOrTen.score(None), 0.5);
    }

    #[test]
    fn thresholds_of_the_paper_mean_8_and_4_of_10() {
        let reached = |threshold| -> Vec<u32> {
            let reaches = |number: &u32| reaches(ScoreScale::UnitOrTen.score(Some(f64::from(*number))), threshold);
            (2..=10).filter(reaches).collect()
        };
        assert_eq!(reached(0.7), [8, 9, 10]);
        assert_eq!(reached(0.3), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(reached(0.0).len(), 9);
        assert!(reaches(ScoreScale::UnitOrTen.score(Some(7.3)), 0.7));
    }

    proptest! {
        #[test]
        fn any_text_has_a_score(text in ".{0,12}") {
            for scale in [ScoreScale::UnitOrTen, ScoreScale::Ten] {
                prop_assert!((0.0..=1.0).contains(&scale.score(number(&text))));
            }
        }
    }
}
