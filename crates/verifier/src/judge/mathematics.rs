//! Mathematical answers: exact rational numbers here, everything else by Math-Verify in a sandbox of its own.

use lyceum_core::verify::{MathPair, Status, Verdict};

use super::meaning::compared;
use super::reading::{Reading, are_same_text};
use super::{Bench, incorrect};
use crate::execution::{Conversation, Failed, Outcome, Request, single};
use crate::rational::Rational;
use crate::sandbox::SandboxError;
use crate::value::Value;

impl Bench<'_> {
    pub(super) fn mathematics(&mut self, pair: &MathPair) -> Result<Verdict, SandboxError> {
        let malformed = |name: &str, reason: String| {
            let failed = Failed::new(Status::Malformed, format!("the {name} {reason}"));
            Ok(incorrect(failed))
        };
        if are_same_text(&pair.gold, &pair.answer) {
            return Ok(right());
        }
        let (gold, answer) = match (Reading::of(&pair.gold), Reading::of(&pair.answer)) {
            (Ok(gold), Ok(answer)) => (gold, answer),
            (Err(reason), _) => return malformed("gold", reason),
            (_, Err(reason)) => return malformed("answer", reason),
        };
        let is_equal = match decided(&gold, &answer) {
            Some(is_equal) => Ok(is_equal),
            None => {
                let limits = self.slot.limits();
                truth(single(self.slot.mathematics()?, limits, &request(&gold, &answer, pair.plain))?)
            }
        };
        Ok(match is_equal {
            Ok(true) => right(),
            Ok(false) => Verdict {
                correct: Some(false),
                ..Verdict::bare(None, Status::Ok, format!("{} is not {}", shown(&answer), shown(&gold)))
            },
            Err(failed) => incorrect(failed),
        })
    }
}

/// Whether an answer equals the correct one, where that can be told without Math-Verify.
pub(super) fn decided(gold: &Reading<'_>, answer: &Reading<'_>) -> Option<bool> {
    let is_response = gold.is_response || answer.is_response;
    let (gold, answer) = (&*gold.text, &*answer.text);
    if are_same_text(gold, answer) {
        return Some(true);
    }
    if let (Some(gold), Some(answer)) = (Rational::read(gold), Rational::read(answer)) {
        return Some(gold.equals(&answer));
    }
    if Rational::are_equal_with_decimal_comma(gold, answer) {
        return Some(true);
    }
    if is_response { None } else { compared(gold, answer) }
}

/// The question to Math-Verify, which treats the two sides differently: a gold of `1` accepts `x=1`. With `plain`, plain
/// notation is read, too.
pub(super) fn request<'a>(gold: &'a Reading<'_>, answer: &'a Reading<'_>, plain: bool) -> Request<'a> {
    Request::Math {
        gold: &gold.text,
        answer: &answer.text,
        are_responses: [gold.is_response, answer.is_response],
        plain,
    }
}

/// Math-Verify's answer, or why it could not tell.
pub(super) fn truth(outcome: Outcome) -> Result<bool, Failed> {
    match outcome {
        Outcome::Value(Value::Bool(correct)) => Ok(correct),
        Outcome::Failed(failed) => Err(failed),
        Outcome::Value(_) | Outcome::Large(_) => Err(Failed::protocol("it gave no truth value")),
    }
}

fn right() -> Verdict {
    Verdict { correct: Some(true), ..Verdict::bare(None, Status::Ok, "") }
}

/// An answer, or the end of a response, for a message.
fn shown(reading: &Reading<'_>) -> String {
    const LENGTH: usize = 200;
    let skipped = reading.text.chars().count().saturating_sub(LENGTH);
    if skipped == 0 || !reading.is_response {
        return reading.text.clone().into_owned();
    }
    format!("…{}", reading.text.chars().skip(skipped).collect::<String>())
}

impl Bench<'_> {
    /// Greedy grouping in the order of the answers, as in R-Zero (arXiv 2508.05004): an answer joins the first cluster
    /// whose first member it equals in either direction, or opens one. Equality that cannot be decided is none.
    ///
    /// All comparisons run in one process, which reads each answer once: with a process each, most of the time would go
    /// into making processes.
    pub(super) fn cluster(&mut self, answers: &[String]) -> Result<Verdict, SandboxError> {
        let answers: Vec<Option<Reading<'_>>> = answers.iter().map(|answer| Reading::of(answer).ok()).collect();
        let are_numbers = answers.iter().flatten().all(|answer| Rational::read(&answer.text).is_some());
        let limits = self.slot.limits();
        let mut conversation = match are_numbers {
            true => None,
            false => Some(Conversation::new(self.slot.mathematics()?, limits)),
        };
        let mut representatives: Vec<&Reading<'_>> = Vec::new();
        let mut clusters = Vec::with_capacity(answers.len());
        for answer in &answers {
            let Some(answer) = answer else {
                clusters.push(None);
                continue;
            };
            let place = place(conversation.as_mut(), &representatives, answer)?;
            if place == representatives.len() {
                representatives.push(answer);
            }
            clusters.push(u32::try_from(place).ok());
        }
        let ended = conversation.map_or(Ok(Ok(())), Conversation::end)?;
        Ok(match ended {
            Ok(()) => Verdict { clusters: Some(clusters), ..Verdict::bare(None, Status::Ok, "") },
            Err(failed) => Verdict {
                clusters: Some(vec![None; clusters.len()]),
                ..Verdict::bare(None, failed.status, failed.reason)
            },
        })
    }
}

/// The index of the first representative that equals the answer, or their number.
fn place(
    mut conversation: Option<&mut Conversation<'_>>,
    representatives: &[&Reading<'_>],
    answer: &Reading<'_>,
) -> Result<usize, SandboxError> {
    if let Some(same) = representatives.iter().position(|known| **known == *answer) {
        return Ok(same);
    }
    for (place, known) in representatives.iter().enumerate() {
        for (gold, answer) in [(*known, answer), (answer, *known)] {
            let is_equal = match (decided(gold, answer), &mut conversation) {
                (Some(is_equal), _) => is_equal,
                (None, Some(conversation)) => truth(conversation.ask(&request(gold, answer, false))?) == Ok(true),
                (None, None) => false,
            };
            if is_equal {
                return Ok(place);
            }
        }
    }
    Ok(representatives.len())
}
