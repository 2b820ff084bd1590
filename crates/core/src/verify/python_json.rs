//! Python's `json.dumps` writes infinity as a bare word, which JSON does not allow.

/// The text with the bare word `Infinity` replaced by `1e999`; `None` if there is none.
///
/// Words inside strings are left alone. `NaN` has no JSON spelling and stays invalid.
pub(crate) fn finite_spelling(text: &str) -> Option<String> {
    const WORD: &str = "Infinity";
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
            b'I' if !in_string && text[at..].starts_with(WORD) => {
                spelled.push_str(&text[copied..at]);
                spelled.push_str("1e999");
                copied = at + WORD.len();
            }
            _ => {}
        }
    }
    (copied > 0).then(|| spelled + &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::finite_spelling;

    #[test]
    fn only_bare_words_are_spelled() {
        assert_eq!(
            finite_spelling(r#"[Infinity, -Infinity, "Infinity \" Infinity"]"#).unwrap(),
            r#"[1e999, -1e999, "Infinity \" Infinity"]"#
        );
        assert_eq!(finite_spelling(r#"["Infinity"]"#), None);
    }
}
