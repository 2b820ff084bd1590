//! Arithmetic questions in plain English, read and evaluated exactly.
//!
//! This is the language of `models/seedling-math`: its training questions are written with the wordings in [`wording`],
//! and [`judge`] reads the same wordings back. The verdict is meant for metrics, such as the share of a proposer's stated
//! answers that are right: a run that learned from it would no longer be self-play. A question outside the language is
//! [`Judgement::Unknown`], which is not the same as wrong.

mod expression;
mod formula;
mod question;
#[cfg(test)]
mod tests;
pub mod wording;

pub use self::expression::{Expression, Operator, Rational, read_answer};
pub use self::formula::formula;
pub use self::question::read_question;

/// The verdict on a stated answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It equals the value of the question.
    Right,
    /// It does not.
    Wrong {
        /// The value of the question.
        value: Rational,
    },
    /// The question or the answer cannot be read, or the question has no definite value.
    Unknown(&'static str),
}

/// Whether `answer` is the value of `question`.
///
/// An answer is an integer, a decimal number, or a fraction (`3/4` or `\frac{3}{4}`, in any terms); units are not read.
#[must_use]
pub fn judge(question: &str, answer: &str) -> Judgement {
    let value = match read_question(question).map(|expression| expression.value()) {
        Ok(Some(value)) => value,
        Ok(None) => return Judgement::Unknown("the question has no definite value"),
        Err(reason) => return Judgement::Unknown(reason),
    };
    match read_answer(answer) {
        Some(stated) if stated == value => Judgement::Right,
        Some(_) => Judgement::Wrong { value },
        None => Judgement::Unknown("the answer is not a number"),
    }
}
