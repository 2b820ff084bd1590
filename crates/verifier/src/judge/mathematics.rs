//! Mathematical answers: exact rational numbers here, everything else by Math-Verify in a sandbox of its own.

use lyceum_core::verify::{MathPair, Status, Verdict};

use super::reading::Reading;
use super::{Bench, incorrect};
use crate::execution::{Failed, Outcome, Request, single};
use crate::rational::Rational;
use crate::sandbox::SandboxError;
use crate::value::Value;

impl Bench<'_> {
    pub(super) fn mathematics(&mut self, pair: &MathPair) -> Result<Verdict, SandboxError> {
        let malformed = |name: &str, reason: String| {
            let failed = Failed::new(Status::Malformed, format!("the {name} {reason}"));
            Ok(incorrect(failed))
        };
        let (gold, answer) = match (Reading::of(&pair.gold), Reading::of(&pair.answer)) {
            (Ok(gold), Ok(answer)) => (gold, answer),
            (Err(reason), _) => return malformed("gold", reason),
            (_, Err(reason)) => return malformed("answer", reason),
        };
        Ok(match self.equal(gold, answer)? {
            Ok(correct) => {
                let reason = if correct {
                    String::new()
                } else {
                    format!("{} is not {}", shown(answer), shown(gold))
                };
                Verdict {
                    correct: Some(correct),
                    ..Verdict::bare(None, Status::Ok, reason)
                }
            }
            Err(failed) => incorrect(failed),
        })
    }

    /// Whether an answer equals the correct one; or why Math-Verify could not tell. Math-Verify treats the two sides
    /// differently: a gold of `1` accepts `x=1`.
    pub(super) fn equal(
        &mut self,
        gold: Reading<'_>,
        answer: Reading<'_>,
    ) -> Result<Result<bool, Failed>, SandboxError> {
        if gold == answer {
            return Ok(Ok(true));
        }
        if let (Some(a), Some(b)) = (Rational::read(gold.text), Rational::read(answer.text)) {
            let is_equal = a.value == b.value;
            // Math-Verify rounds decimal fractions, so it decides if one is involved.
            if is_equal || !(a.is_decimal || b.is_decimal) {
                return Ok(Ok(is_equal));
            }
        }
        if Rational::are_equal_with_decimal_comma(gold.text, answer.text) {
            return Ok(Ok(true));
        }
        let limits = self.slot.limits();
        let request = Request::Math {
            gold: gold.text,
            answer: answer.text,
            are_responses: [gold.is_response, answer.is_response],
        };
        Ok(match single(self.slot.mathematics()?, limits, &request)? {
            Outcome::Value(Value::Bool(correct)) => Ok(correct),
            Outcome::Failed(failed) => Err(failed),
            Outcome::Value(_) | Outcome::Large(_) => Err(Failed::protocol("it gave no truth value")),
        })
    }
}

/// An answer, or the end of a response, for a message.
fn shown(reading: Reading<'_>) -> String {
    const LENGTH: usize = 200;
    let skipped = reading.text.chars().count().saturating_sub(LENGTH);
    if skipped == 0 || !reading.is_response {
        return reading.text.to_owned();
    }
    format!("…{}", reading.text.chars().skip(skipped).collect::<String>())
}
