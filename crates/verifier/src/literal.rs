//! Reads models' answers as data: Python's literals, parsed in Rust.
//!
//! The grammar is that of `ast.literal_eval` (every form of number and string with every escape, signs, complex sums,
//! tuples, lists, dicts, sets, `set()`, implicit concatenation, comments) and four calls: `float('inf')` (and the other
//! spellings of infinities and NaN, or a number), `set()` or `set([..])`, `Counter()` or `Counter({..})`, `deque([..])` with
//! an optional `maxlen`. Nothing is evaluated: no other name, no operator, no comprehension, no f-string.

mod call;
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

/// Walks over a text from left to right.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Byte offset, to return to later.
    fn position(&self) -> usize {
        self.at
    }

    fn return_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The text between an earlier position and the current one.
    fn since(&self, position: usize) -> &'a str {
        &self.text[position..self.at]
    }

    /// Column of the current position, in characters from 1.
    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    fn eat_str(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&accept) {
            self.next();
        }
        self.since(start)
    }

    /// An identifier, or the empty string.
    fn name(&mut self) -> &'a str {
        if self.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            self.take_while(|c| c.is_alphanumeric() || c == '_')
        } else {
            ""
        }
    }
}
