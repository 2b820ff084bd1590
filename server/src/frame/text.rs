//! Text written by models, as pages and terminals show it: cut, escaped, highlighted, and with every character visible.

use askama::filters::{Escaper, Html};
use std::fmt::{self, Write};

/// `text` with all characters visible: control characters as symbols (ESC is `␛`), bidirectional and zero-width
/// characters by code point (`⟨U+202E⟩`).
pub fn inert(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            _ if !acts(letter) => shown.push(letter),
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            _ => {
                // Writing to a string never fails.
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
            }
        }
    }
    shown
}

/// JSON in which the same characters are escaped. It means the same: they occur in its strings only.
pub(crate) fn inert_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if acts(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Whether a character does more than to stand where it is written. Ends of lines and tabs are wanted.
fn acts(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        _ => matches!(
            letter,
            '\0'..='\u{1f}'
                | '\u{7f}'..='\u{9f}'
                | '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        ),
    }
}

/// Maximum characters of a text on a page; the JSON has all.
pub(crate) const SHOWN: usize = 20_000;
/// The same for texts in lists.
pub(crate) const SHOWN_IN_LIST: usize = 1_000;

/// A text, cut for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The part shown.
    pub(crate) text: String,
    /// The number of characters cut off.
    pub(crate) more: usize,
}

/// The first `limit` characters of `text`, made inert.
pub(crate) fn excerpt(text: &str, limit: usize) -> Excerpt {
    match text.char_indices().nth(limit) {
        None => Excerpt { text: inert(text), more: 0 },
        Some((end, _)) => Excerpt { text: inert(&text[..end]), more: text[end..].chars().count() },
    }
}

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

const KEYWORDS: [&str; 37] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// HTML of `source`, with classes `k` for keywords, `s` strings, `n` numbers, `c` comments, `f` called or defined
/// names.
pub(crate) fn python(source: &str) -> String {
    let mut html = String::with_capacity(source.len() * 2);
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let (class, length) = match letter {
            '#' => ("c", rest.find('\n').unwrap_or(rest.len())),
            '\'' | '"' => ("s", string_length(rest)),
            '0'..='9' => ("n", word_length(rest)),
            _ if letter.is_alphabetic() || letter == '_' => word(rest),
            _ => ("", letter.len_utf8()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if class.is_empty() {
            escape(&mut html, token);
        } else {
            html.push_str("<span class=\"");
            html.push_str(class);
            html.push_str("\">");
            escape(&mut html, token);
            html.push_str("</span>");
        }
    }
    html
}

fn escape(html: &mut String, text: &str) {
    // Writing to a string never fails.
    let _ = askama::filters::Html.write_escaped_str(&mut *html, text);
}

fn word(rest: &str) -> (&'static str, usize) {
    let length = word_length(rest);
    let (word, after) = rest.split_at(length);
    if after.starts_with(['\'', '"']) && length <= 2 && word.chars().all(|letter| "rbfuRBFU".contains(letter)) {
        return ("s", length + string_length(after));
    }
    if KEYWORDS.contains(&word) {
        return ("k", length);
    }
    if after.starts_with('(') {
        return ("f", length);
    }
    ("", length)
}

fn word_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(text.len())
        .max(text.chars().next().map_or(0, char::len_utf8))
}

/// A string literal, up to the closing quote or else the end of the line or the text.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let (end, lines) = if text.starts_with(&triple) { (triple.as_str(), true) } else { (quote, false) };
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(end.len()) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == '\n' && !lines {
            return place;
        } else if text[place..].starts_with(end) {
            return place + end.len();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_is_shown_instead() {
        let hostile = "a\u{1b}[31mred\0\r\n\u{202e}evil\u{2066}\u{200b}\u{feff}é👩‍💻";
        assert_eq!(inert(hostile), "a␛[31mred␀␍\n⟨U+202E⟩evil⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩é👩‍💻");
    }

    proptest! {
        #[test]
        fn json_means_the_same(text in r"[\x00-\u{ff}\u{2000}-\u{2070}\u{e0000}-\u{e0080}]{0,40}") {
            let json = serde_json::to_string_pretty(&[&text]).unwrap();
            let shown = inert_json(&json);
            prop_assert!(!shown.chars().any(acts), "{shown}");
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(excerpt("äöü€", 3), Excerpt { text: "äöü".to_owned(), more: 1 });
        assert_eq!(excerpt("äöü", 3).more, 0);
    }

    #[test]
    fn what_reverses_is_shown_and_the_rest_is_html() {
        let mut shown = String::new();
        Escaped.write_escaped_str(&mut shown, "<b>\u{202e}gpj.exe\u{2069} שלום\u{200f} & more").unwrap();
        assert_eq!(shown, "&#60;b&#62;⟨U+202E⟩gpj.exe⟨U+2069⟩ שלום\u{200f} &#38; more");
    }

    #[test]
    fn words_have_their_classes() {
        assert_eq!(
            python("def f(a):\n  return a + 10 # <b>\n"),
            "<span class=\"k\">def</span> <span class=\"f\">f</span>(a):\n  <span class=\"k\">return</span> a + \
             <span class=\"n\">10</span> <span class=\"c\"># &#60;b&#62;</span>\n"
        );
        assert_eq!(
            python("x = f'a\\'b' + '''c\n'd''' + \"open\ny"),
            "x = <span class=\"s\">f&#39;a\\&#39;b&#39;</span> + <span class=\"s\">&#39;&#39;&#39;c\n&#39;d&#39;&#39;&#39;</span> \
             + <span class=\"s\">&#34;open</span>\ny"
        );
    }

    proptest! {
        #[test]
        fn nothing_but_its_own_elements_is_html(source in r#"[a-z0-9 '"<>&#\n\\()é_]{0,80}"#) {
            let html = python(&source);
            let mut text = html.replace("</span>", "");
            for class in ["k", "s", "n", "c", "f"] {
                text = text.replace(&format!("<span class=\"{class}\">"), "");
            }
            prop_assert!(!text.contains(['<', '>']), "{text}");
            let read = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"").replace("&#39;", "'");
            prop_assert_eq!(read.replace("&#38;", "&"), source);
        }
    }
}
