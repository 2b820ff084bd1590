//! Near duplicates: programs that differ only in names, constants and layout.

use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// Words that are kept as they are: Python's keywords.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// A fingerprint that two programs share if they are equal after numbering variables in order of appearance, masking
/// constants and dropping comments, whitespace and layout. Names after a dot (methods) are kept.
pub fn fingerprint(program: &str) -> u32 {
    let hash = Sha256::digest(canonical(program));
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

fn canonical(program: &str) -> String {
    let mut canonical = String::with_capacity(program.len());
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut rest = program;
    let mut after_dot = false;
    let mut blocks = vec![0];
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => string_length(rest, letter),
            _ if letter.is_alphabetic() || letter == '_' => word_length(rest),
            _ if letter.is_ascii_digit() => number_length(rest),
            '\n' => rest.len() - rest.trim_start_matches(['\n', ' ', '\t', '\r']).len(),
            _ => letter.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match letter {
            '#' | ' ' | '\t' | '\r' => continue,
            '\n' if rest.is_empty() || rest.starts_with('#') => continue,
            '\n' => indent(&mut canonical, &mut blocks, token.rsplit('\n').next().map_or(0, str::len)),
            '\'' | '"' => canonical.push('S'),
            _ if letter.is_ascii_digit() => canonical.push('N'),
            _ if letter.is_alphabetic() || letter == '_' => {
                let count = names.len();
                match after_dot || KEYWORDS.contains(&token) || after.trim_start().starts_with('(') {
                    true => canonical.push_str(token),
                    false => canonical.push_str(&format!("v{}", names.entry(token).or_insert(count))),
                }
                canonical.push(' ');
            }
            _ => canonical.push(letter),
        }
        after_dot = letter == '.';
    }
    canonical
}

/// Turns a line's indentation into opening and closing blocks, whatever their width.
fn indent(canonical: &mut String, blocks: &mut Vec<usize>, width: usize) {
    canonical.push(';');
    while blocks.last().is_some_and(|open| *open > width) {
        blocks.pop();
        canonical.push('}');
    }
    if blocks.last().is_none_or(|open| *open < width) {
        blocks.push(width);
        canonical.push('{');
    }
}

fn word_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())
}

fn number_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.' && letter != '_').unwrap_or(text.len())
}

/// The length of the string literal at the start of `text`; an unterminated one extends to the end.
fn string_length(text: &str, quote: char) -> usize {
    let triple = [quote; 3].iter().collect::<String>();
    let (open, close) = if text.starts_with(&triple) { (3, triple.as_str()) } else { (1, &triple[..1]) };
    let mut at = open;
    while at < text.len() {
        let inside = &text[at..];
        if inside.starts_with(close) {
            return at + close.len();
        }
        let mut letters = inside.chars();
        let letter = letters.next().map_or(1, char::len_utf8);
        at += if inside.starts_with('\\') { letter + letters.next().map_or(0, char::len_utf8) } else { letter };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_constants_and_layout_do_not_count() {
        let one = "def f(a, b):\n    # adds\n    c = a + 2\n    return c * b\n";
        let same = "def f(x,y):\n z=x+17\n return z*y";
        assert_eq!(canonical(one), canonical(same));
        assert_eq!(fingerprint(one), fingerprint(same));
        assert_eq!(fingerprint("def f(s):\n return s+'a'"), fingerprint("def f(t):\n return t+\"it's\""));
    }

    #[test]
    fn structure_counts() {
        let one = fingerprint("def f(a,b):\n return a+b");
        for other in [
            "def f(a,b):\n return b+a",
            "def f(a,b):\n return a-b",
            "def f(a):\n return a.lower()",
            "def f(a):\n return a.upper()",
        ] {
            assert_ne!(one, fingerprint(other), "{other}");
        }
        let inside = fingerprint("def f(a):\n if a:\n  a=1\n  a=2\n return a");
        assert_ne!(inside, fingerprint("def f(a):\n if a:\n  a=1\n a=2\n return a"));
        assert_ne!(fingerprint("def f(a):\n return len(a)"), fingerprint("def f(a):\n return sum(a)"));
    }

    proptest! {
        #[test]
        fn any_text_has_a_fingerprint(text in ".*") {
            fingerprint(&text);
        }

        #[test]
        fn any_python_like_text_has_a_fingerprint(text in "[a'\"\\\\#.( \n3é]*") {
            fingerprint(&text);
        }
    }
}
