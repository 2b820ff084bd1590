//! Python's `json.dumps` writes infinity as a bare word, which JSON does not allow.

/// The text with the bare word `Infinity` replaced by `1e999`; `None` if there is none.
///
/// Words inside strings are left alone. `NaN` has no JSON spelling and stays invalid.
pub(crate) fn finite_spelling(text: &str) -> Option<String> {
    respelled(text, &[("Infinity", "1e999")])
}

/// JSON as Python writes it, with numbers beyond any float for infinities and null for NaN; nothing if it has neither.
pub(crate) fn json_spelling(text: &str) -> Option<String> {
    respelled(text, &[("Infinity", "1e999"), ("NaN", "null")])
}

/// JSON as Python writes it, with null for NaN and infinities; nothing if it has neither.
pub(crate) fn null_spelling(text: &str) -> Option<String> {
    respelled(text, &[("-Infinity", "null"), ("Infinity", "null"), ("NaN", "null")])
}

fn respelled(text: &str, words: &[(&str, &str)]) -> Option<String> {
    let mut spelled = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'I' | b'N' | b'-' if !in_string && at >= copied => {
                if let Some((word, spelling)) = words.iter().find(|(word, _)| text[at..].starts_with(word)) {
                    spelled.push_str(&text[copied..at]);
                    spelled.push_str(spelling);
                    copied = at + word.len();
                }
            }
            _ => {}
        }
    }
    (copied > 0).then(|| spelled + &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::{finite_spelling, json_spelling, null_spelling};

    #[test]
    fn only_bare_words_are_spelled() {
        assert_eq!(
            finite_spelling(r#"[Infinity, -Infinity, "Infinity \" Infinity"]"#).unwrap(),
            r#"[1e999, -1e999, "Infinity \" Infinity"]"#
        );
        assert_eq!(finite_spelling(r#"["Infinity"]"#), None);
        assert_eq!(finite_spelling("[NaN]"), None);
        assert_eq!(
            null_spelling(r#"[NaN, -Infinity, -1, "-Infinity"]"#).unwrap(),
            r#"[null, null, -1, "-Infinity"]"#
        );
        assert_eq!(
            json_spelling(r#"[NaN, -Infinity, "NaN"]"#).unwrap(),
            r#"[null, -1e999, "NaN"]"#
        );
    }
}
