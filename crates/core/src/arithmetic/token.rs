//! Words, numbers and signs.

use super::number::{Rational, unsigned};

/// The most tokens of a question.
const LONGEST: usize = 400;

/// A piece of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word in lower case.
    Word(String),
    /// A number without sign.
    Number(Rational),
    /// Any other character, except white space.
    Sign(char),
}

impl Token {
    pub(super) fn is_sign(&self, wanted: char) -> bool {
        *self == Self::Sign(wanted)
    }

    pub(super) fn is_word(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word == wanted)
    }

    /// Whether a sentence ends here.
    pub(super) fn ends_sentence(&self) -> bool {
        matches!(self, Self::Sign('.' | '?' | '!'))
    }
}

/// The tokens of a text; `None` if there are too many or a number is malformed.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_digit() {
            let length = number_length(rest);
            (Token::Number(unsigned(&rest[..length])?), length)
        } else if first.is_alphabetic() {
            let length = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
            (Token::Word(rest[..length].to_lowercase()), length)
        } else {
            let sign = match first {
                '×' | '·' => '*',
                '÷' => '/',
                '−' => '-',
                other => other,
            };
            (Token::Sign(sign), first.len_utf8())
        };
        found.push(token);
        if found.len() > LONGEST {
            return None;
        }
        rest = rest[length..].trim_start();
    }
    Some(found)
}

/// The length of the number at the beginning of `text`. A point counts only if a digit follows: otherwise it ends a
/// sentence.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    match text[whole..].strip_prefix('.').map(digits) {
        Some(decimals) if decimals > 0 => whole + 1 + decimals,
        _ => whole,
    }
}
