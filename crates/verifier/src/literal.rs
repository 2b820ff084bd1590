//! Reads models' answers as data: Python's literals, parsed in Rust.
//!
//! The grammar is that of `ast.literal_eval` (every form of number and string with every escape, signs, complex sums,
//! tuples, lists, dicts, sets, `set()`, implicit concatenation, comments) and four calls: `float('inf')` (and the other
//! spellings of infinities and NaN, or a number), `set()` or `set([..])`, `Counter()` or `Counter({..})`, `deque([..])` with
//! an optional `maxlen`. Nothing is evaluated: no other name, no operator, no comprehension, no f-string.

mod call;
mod cursor;
mod parser;
mod scalar;

pub use call::Arguments;

use crate::value::Value;
use parser::Parser;

/// The error in a text that is not a literal, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Python literal: {what} at character {at}")]
pub struct LiteralError {
    /// The unexpected text.
    pub what: String,
    /// Position in the text, counted in characters from 1.
    pub at: usize,
}

/// Parses a text that is one literal; several separated by commas are a tuple, as in Python.
///
/// # Errors
/// If the text is anything else, or nests deeper than [`MAX_DEPTH`](crate::value::MAX_DEPTH).
pub fn parse_literal(text: &str) -> Result<Value, LiteralError> {
    Parser::run(text, |parser| parser.expression_list())
}

/// Parses the arguments of a call: literals, then `name=literal`.
///
/// # Errors
/// If the text is anything else.
pub fn parse_arguments(text: &str) -> Result<Arguments, LiteralError> {
    Parser::run(text, |parser| parser.arguments())
}
