//! Answers of models, read as data: Python's literals, in Rust.
//!
//! The grammar is that of `ast.literal_eval` (every form of number and string with every escape, signs, complex sums,
//! tuples, lists, dicts, sets, `set()`, implicit concatenation, comments) and four calls: `float('inf')` (and the other
//! spellings of infinities and NaN, or a number), `set()` or `set([..])`, `Counter()` or `Counter({..})`, `deque([..])` with
//! an optional `maxlen`. Nothing is evaluated: no other name, no operator, no comprehension, no f-string.

mod arguments;
mod call;
mod cursor;
mod number;
mod parser;
mod string;

pub use arguments::Arguments;

use crate::value::Value;
use parser::Parser;

/// Why a text is not a literal, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Python literal: {what} at character {at}")]
pub struct LiteralError {
    /// What was met, and what would be valid.
    pub what: String,
    /// Position in the text, counted in characters from 1.
    pub at: usize,
}

/// Reads a text that is one literal; several with commas between them are a tuple, as in Python.
///
/// # Errors
/// When the text is anything else, or nests deeper than [`MAX_DEPTH`](crate::value::MAX_DEPTH).
pub fn parse_literal(text: &str) -> Result<Value, LiteralError> {
    Parser::run(text, |parser| parser.expression_list())
}

/// Reads a text that could stand between the parentheses of a call: literals, then `name=literal`.
///
/// # Errors
/// When the text is anything else.
pub fn parse_arguments(text: &str) -> Result<Arguments, LiteralError> {
    Parser::run(text, |parser| parser.arguments())
}
