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

impl Bench<'_> {
    pub(super) fn mathematics(&mut self, pair: &MathPair) -> Result<Verdict, SandboxError> {
        let [gold, answer] = [&pair.gold, &pair.answer].map(|text| last_boxed(text).unwrap_or(text).trim());
        let malformed = |reason: String| Ok(incorrect(Failed::new(Status::Malformed, reason)));
        for (name, text) in [("gold", gold), ("answer", answer)] {
            if text.is_empty() {
                return malformed(format!("the {name} is empty"));
            }
            if text.len() > MAX_ANSWER {
                return malformed(format!(
                    "the {name} has {} bytes; at most {MAX_ANSWER} are read",
                    text.len()
                ));
            }
            if text.contains('\0') {
                return malformed(format!("the {name} holds a NUL character"));
            }
        }
        let judged = |correct: bool| {
            let reason = if correct {
                String::new()
            } else {
                format!("{answer} is not {gold}")
            };
            Verdict {
                correct: Some(correct),
                ..Verdict::bare(None, Status::Ok, reason)
            }
        };
        if gold == answer {
            return Ok(judged(true));
        }
        if let (Some(a), Some(b)) = (Rational::read(gold), Rational::read(answer)) {
            let is_equal = a.value == b.value;
            // Math-Verify rounds decimal fractions, so it decides if one is involved.
            if is_equal || !(a.is_decimal || b.is_decimal) {
                return Ok(judged(is_equal));
            }
        }
        let limits = self.slot.limits();
        Ok(
            match single(self.slot.mathematics()?, limits, &Request::Math { gold, answer })? {
                Outcome::Value(Value::Bool(correct)) => judged(correct),
                Outcome::Failed(failed) => incorrect(failed),
                Outcome::Value(_) | Outcome::Large(_) => incorrect(Failed::protocol("it gave no truth value")),
            },
        )
    }
}
