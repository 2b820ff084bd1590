//! Mathematical answers: exact rational numbers here, everything else by Math-Verify in a sandbox of its own.

use lyceum_core::answer::last_boxed;
use lyceum_core::verify::{MathPair, Status, Verdict};

use super::{Bench, incorrect};
use crate::execution::{Failed, Outcome, Request, single};
use crate::rational::Rational;
use crate::sandbox::SandboxError;
use crate::value::Value;

/// Maximum length of an answer.
const MAX_ANSWER: usize = 10_000;

/// An answer without its box and surrounding space, or why it cannot be compared.
pub(super) fn bare(text: &str) -> Result<&str, String> {
    let text = last_boxed(text).unwrap_or(text).trim();
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.len() > MAX_ANSWER {
        return Err(format!("has {} bytes; at most {MAX_ANSWER} are read", text.len()));
    }
    if text.contains('\0') {
        return Err("holds a NUL character".to_owned());
    }
    Ok(text)
}

impl Bench<'_> {
    pub(super) fn mathematics(&mut self, pair: &MathPair) -> Result<Verdict, SandboxError> {
        let malformed = |name: &str, reason: String| {
            let failed = Failed::new(Status::Malformed, format!("the {name} {reason}"));
            Ok(incorrect(failed))
        };
        let (gold, answer) = match (bare(&pair.gold), bare(&pair.answer)) {
            (Ok(gold), Ok(answer)) => (gold, answer),
            (Err(reason), _) => return malformed("gold", reason),
            (_, Err(reason)) => return malformed("answer", reason),
        };
        Ok(match self.equal(gold, answer)? {
            Ok(correct) => {
                let reason = if correct {
                    String::new()
                } else {
                    format!("{answer} is not {gold}")
                };
                Verdict {
                    correct: Some(correct),
                    ..Verdict::bare(None, Status::Ok, reason)
                }
            }
            Err(failed) => incorrect(failed),
        })
    }

    /// Whether an answer equals the correct one, both [`bare`]; or why Math-Verify could not tell. Math-Verify treats
    /// the two sides differently: a gold of `1` accepts `x=1`.
    pub(super) fn equal(&mut self, gold: &str, answer: &str) -> Result<Result<bool, Failed>, SandboxError> {
        if gold == answer {
            return Ok(Ok(true));
        }
        if let (Some(a), Some(b)) = (Rational::read(gold), Rational::read(answer)) {
            let is_equal = a.value == b.value;
            // Math-Verify rounds decimal fractions, so it decides if one is involved.
            if is_equal || !(a.is_decimal || b.is_decimal) {
                return Ok(Ok(is_equal));
            }
        }
        let limits = self.slot.limits();
        Ok(
            match single(self.slot.mathematics()?, limits, &Request::Math { gold, answer })? {
                Outcome::Value(Value::Bool(correct)) => Ok(correct),
                Outcome::Failed(failed) => Err(failed),
                Outcome::Value(_) | Outcome::Large(_) => Err(Failed::protocol("it gave no truth value")),
            },
        )
    }
}
