//! Syntax highlighting of Python, as HTML with classes.
//!
//! It works character by character on any input: text that is not Python, or is nested a million levels deep, takes
//! linear time. (Available lexers belong to parsers that recurse.)

use askama::filters::Escaper as _;

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
    let (end, lines) = match text.starts_with(&triple) {
        true => (triple.as_str(), true),
        false => (quote, false),
    };
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
