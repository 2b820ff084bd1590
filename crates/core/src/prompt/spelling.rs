//! Notation of values for a small model.

/// A Python literal, or several separated by commas, without white space outside string quotes.
pub fn compact_literal(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter.is_whitespace() => continue,
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None => {}
        }
        spelled.push(letter);
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_go_outside_of_quotes_alone() {
        assert_eq!(
            compact_literal("[1, 'a, b', {\"k k\": -2.5}]"),
            "[1,'a, b',{\"k k\":-2.5}]"
        );
        assert_eq!(compact_literal(r"'it\'s so', 2"), r"'it\'s so',2");
        assert_eq!(compact_literal("(1, )\n"), "(1,)");
    }
}
