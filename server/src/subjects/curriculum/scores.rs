//! A critic's scores against what became of the problems, and against the truth where it is known.

use actix_web::web;
use lyceum_core::arithmetic::{Judgement, judge};
use lyceum_core::auc::auc;
use lyceum_core::id::ExecutionId;
use lyceum_core::problem::Values;
use lyceum_core::recipe::Gates;
use lyceum_core::statistics::Interval;
use lyceum_store::problems::{ScoredProblem, scored};
use lyceum_store::runs::RunDetail;
use lyceum_store::steps::Stretch;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::lab::Lab;

/// The most problems that are read.
const PROBLEMS: u32 = 50_000;
/// Buckets of scores from 0 to 1: one for each whole number from 1 to 10 that a critic gives.
const BUCKETS: usize = 10;

/// The problems that members proposed, by the critic's score.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Scores {
    /// Problems counted: the newest of those steps, at most 50,000.
    pub(crate) problems: usize,
    /// Whether there are more.
    pub(crate) is_cut: bool,
    /// The probability that a right stated answer has a higher score than a wrong one, of the problems whose truth is
    /// known; absent without both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auc: Option<f64>,
    /// The mean score of the same problems; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mean_score: Option<f64>,
    /// The share of the same problems whose stated answer is right; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) right_share: Option<f64>,
    /// Problems that were not scored, ten buckets of scores, and problems that the critic gave no number.
    pub(crate) items: Vec<ScoreBucket>,
}

/// Problems with about the same score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct ScoreBucket {
    /// Where the scores come from: `number` from the critic's number, which counts as 0.5 if it is outside of the scale;
    /// `none` is an answer of the critic without a number, `unscored` a proposal without a question to score.
    #[schema(example = "number")]
    pub(crate) from: &'static str,
    /// The score in the middle of the bucket, from 0 to 1.
    pub(crate) score: f64,
    /// Problems.
    pub(crate) proposed: u64,
    /// Those that are valid.
    pub(crate) valid: u64,
    /// Those that joined the growing set.
    pub(crate) admitted: u64,
    /// Those whose stated answer is known to be right or wrong.
    pub(crate) known: u64,
    /// Those whose stated answer is right.
    pub(crate) right: u64,
    /// The share of `known` that is right; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) right_share: Option<f64>,
    /// The lower end of its interval of 95 % (Wilson 1927).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) high: Option<f64>,
}

impl Scores {
    /// Counts the problems of these steps of `run`.
    pub(crate) async fn read(lab: &Lab, run: &RunDetail, steps: Stretch) -> Result<Self, ApiError> {
        let Some(gates) = super::gates(lab, run) else { return Ok(Self::of(&[], None)) };
        let problems = scored(lab.store.pool(), ExecutionId(run.run.id), steps, PROBLEMS + 1).await?;
        let counted = web::block(move || Self::of(&problems, Some(gates))).await;
        counted.map_err(|error| ApiError::internal(&error))
    }

    /// The newest problems first.
    fn of(problems: &[ScoredProblem], gates: Option<Gates>) -> Self {
        let is_cut = problems.len() > PROBLEMS as usize;
        let problems = &problems[..problems.len().min(PROBLEMS as usize)];
        let mut items = empty();
        let mut known: Vec<(f32, bool)> = Vec::new();
        for (problem, gates) in problems.iter().filter_map(|problem| Some((problem, gates.as_ref()?))) {
            let score = if problem.is_scored { gates.score(problem.score.as_deref()) } else { 0.0 };
            let place = match (problem.is_scored, &problem.score) {
                (false, _) => 0,
                (true, None) => BUCKETS + 1,
                (true, Some(_)) => 1 + (f64::from(score) * (BUCKETS - 1) as f64).round() as usize,
            };
            let bucket = &mut items[place.min(BUCKETS + 1)];
            bucket.proposed += 1;
            bucket.valid += u64::from(problem.valid);
            bucket.admitted += u64::from(problem.valid && gates.admits(score));
            if let Some(is_right) = is_right(problem) {
                bucket.known += 1;
                bucket.right += u64::from(is_right);
                if problem.is_scored {
                    known.push((score, is_right));
                }
            }
        }
        for bucket in &mut items {
            let interval = Interval::wilson(bucket.right, bucket.known, Interval::Z_95);
            bucket.right_share = interval.map(|_| bucket.right as f64 / bucket.known as f64);
            bucket.low = interval.map(|interval| interval.low);
            bucket.high = interval.map(|interval| interval.high);
        }
        let mean = |value: &dyn Fn(&(f32, bool)) -> f64| {
            (!known.is_empty()).then(|| known.iter().map(value).sum::<f64>() / known.len() as f64)
        };
        Self {
            problems: problems.len(),
            is_cut,
            auc: Some(auc(&known)).filter(|auc| auc.is_finite()),
            mean_score: mean(&|(score, _)| f64::from(*score)),
            right_share: mean(&|(_, is_right)| f64::from(u8::from(*is_right))),
            items,
        }
    }

    /// Whether any problem was scored.
    pub(crate) fn has_scores(&self) -> bool {
        self.items.iter().any(|bucket| bucket.from != "unscored" && bucket.proposed > 0)
    }

    /// Whether the truth about any problem is known.
    pub(crate) fn has_truth(&self) -> bool {
        self.items.iter().any(|bucket| bucket.known > 0)
    }
}

impl ScoreBucket {
    /// Its name on a chart's axis.
    pub(crate) fn label(&self) -> String {
        match self.from {
            "unscored" => "not scored".to_owned(),
            "none" => "no number".to_owned(),
            _ => format!("{:.2}", self.score),
        }
    }
}

/// Buckets without problems.
fn empty() -> Vec<ScoreBucket> {
    let bucket = |from, score| ScoreBucket { from, score, ..ScoreBucket::default() };
    let numbers = (0..BUCKETS).map(|place| bucket("number", place as f64 / (BUCKETS - 1) as f64));
    [bucket("unscored", 0.0)].into_iter().chain(numbers).chain([bucket("none", 0.5)]).collect()
}

/// Whether the stated answer of a problem is right; `None` if only people can tell.
fn is_right(problem: &ScoredProblem) -> Option<bool> {
    let Ok(Values::Math { question, answer }) = serde_json::from_str(&problem.values) else { return None };
    match judge(&question, &answer) {
        Judgement::Right => Some(true),
        Judgement::Wrong { .. } => Some(false),
        Judgement::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::ScoreScale;
    use serde_json::json;

    fn gates() -> Gates {
        Gates { question: 0.7, plan: None, scale: ScoreScale::Ten }
    }

    /// A challenge that was given this number, and states this sum.
    fn problem(number: Option<&str>, question: &str, answer: &str, valid: bool) -> ScoredProblem {
        ScoredProblem {
            valid,
            values: json!({"question": question, "answer": answer}).to_string(),
            is_scored: true,
            score: number.map(str::to_owned),
        }
    }

    #[test]
    fn problems_are_counted_by_score_decision_and_truth() {
        let question = "what is 1 + 2 ?";
        let scores = Scores::of(
            &[
                problem(Some("8"), question, "3", true),
                problem(Some("8/10"), question, "4", true),
                problem(Some("8"), question, "3", false),
                problem(Some("7"), question, "3", true),
                problem(Some("7.2"), "why is the sky blue?", "3", true),
                problem(None, question, "5", true),
                ScoredProblem { is_scored: false, ..problem(None, "", "", false) },
            ],
            Some(gates()),
        );
        let counts = |place: usize| {
            let one = &scores.items[place];
            [one.proposed, one.valid, one.admitted, one.known, one.right]
        };
        assert_eq!(scores.items.len(), 12);
        assert_eq!(counts(8), [3, 2, 2, 3, 2], "a number of 8, whether it is valid or not");
        assert_eq!(counts(7), [2, 2, 0, 1, 1], "7.2 rounds to 7, and joining takes 7.3");
        assert_eq!(counts(11), [1, 1, 0, 1, 0], "no number is the score 0.5");
        assert_eq!(counts(0), [1, 0, 0, 0, 0]);
        let labels: Vec<String> = scores.items.iter().map(ScoreBucket::label).collect();
        assert_eq!([&labels[0], &labels[8], &labels[11]], ["not scored", "0.78", "no number"]);
        // scipy.stats: binomtest(2, 3).proportion_ci(method="wilson") is (0.2077, 0.9385).
        let eight = &scores.items[8];
        assert!((eight.low.unwrap() - 0.2077).abs() < 1e-4 && (eight.high.unwrap() - 0.9385).abs() < 1e-4);
        // Right are 8, 8 and 7; wrong are 8 and none, which is 0.5: of six pairs three are in order and two are ties.
        assert_eq!(scores.auc, Some((2.0 * 0.5 + 3.0) / 6.0));
        assert_eq!(scores.right_share, Some(0.6));
        assert!(scores.has_truth() && !scores.is_cut);
    }

    #[test]
    fn without_problems_there_is_no_share() {
        let scores = Scores::of(&[], Some(gates()));
        assert_eq!((scores.problems, scores.auc, scores.right_share), (0, None, None));
        assert!(scores.items.iter().all(|bucket| bucket.right_share.is_none()));
        assert!(!scores.has_truth());
    }
}
