//! The scores of a critic, as numbers from 0 to 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
pub(crate) fn reaches(score: f32, threshold: f64) -> bool {
    f64::from(score) >= threshold - 1e-6
}

/// The number that a text begins with, as in `7`, `7.5`, `7/10` and `7 out of 10`; `None` if it begins with none.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let after = unsigned.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &text[..text.len() - after.len()];
    // A full stop that ends a sentence is not a decimal point.
    number.strip_suffix('.').unwrap_or(number).parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            ("1e1", 1.0, 0.0),
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
