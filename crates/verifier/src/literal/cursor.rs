//! A position in a text.

/// Walks over a text from left to right.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Byte offset, to return to later.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn return_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The text between an earlier position and the current one.
    pub(super) fn since(&self, position: usize) -> &'a str {
        &self.text[position..self.at]
    }

    /// Column of the current position, in characters from 1.
    pub(super) fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    pub(super) fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    pub(super) fn eat_str(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    pub(super) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&accept) {
            self.next();
        }
        self.since(start)
    }

    /// An identifier, or the empty string.
    pub(super) fn name(&mut self) -> &'a str {
        if self.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            self.take_while(|c| c.is_alphanumeric() || c == '_')
        } else {
            ""
        }
    }
}
