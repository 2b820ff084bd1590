//! How templates escape what they insert.

use askama::filters::{Escaper, Html};
use std::fmt::{self, Write};

/// As HTML text, with the characters that reverse the text after them shown by code point (`⟨U+202E⟩`): a title has no
/// element that could keep their effect in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped;

impl Escaper for Escaped {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        // In UTF-8 these characters begin with this byte; most texts do not have it.
        if !text.as_bytes().contains(&0xe2) {
            return Html.write_escaped_str(dest, text);
        }
        let mut rest = text;
        while let Some((at, letter)) = rest.char_indices().find(|(_, letter)| reverses(*letter)) {
            Html.write_escaped_str(&mut dest, &rest[..at])?;
            self.write_escaped_char(&mut dest, letter)?;
            rest = &rest[at + letter.len_utf8()..];
        }
        Html.write_escaped_str(dest, rest)
    }

    fn write_escaped_char<W: Write>(&self, mut dest: W, letter: char) -> fmt::Result {
        match reverses(letter) {
            true => write!(dest, "⟨U+{:04X}⟩", u32::from(letter)),
            false => Html.write_escaped_char(dest, letter),
        }
    }
}

/// Embeddings, overrides and isolates (Unicode Standard Annex 9).
fn reverses(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reverses_is_shown_and_the_rest_is_html() {
        let mut shown = String::new();
        Escaped
            .write_escaped_str(&mut shown, "<b>\u{202e}gpj.exe\u{2069} שלום\u{200f} & more")
            .unwrap();
        assert_eq!(shown, "&#60;b&#62;⟨U+202E⟩gpj.exe⟨U+2069⟩ שלום\u{200f} &#38; more");
    }
}
