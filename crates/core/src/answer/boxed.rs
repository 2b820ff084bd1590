//! `\boxed{}`: how models mark a mathematical answer.

/// The contents of the last complete `\boxed{..}` or `\fbox{..}`, with balanced braces; `\boxed 5` is its next token.
///
/// A box inside a box belongs to the outer one. Braces that are escaped do not count.
#[must_use]
pub fn last_boxed(text: &str) -> Option<&str> {
    let mut found = None;
    let mut from = 0;
    while let Some((start, body)) = next_box(text, from) {
        match contents(&text[body..]) {
            Some(inside) => {
                found = Some(inside.trim());
                let begin = inside.as_ptr() as usize - text.as_ptr() as usize;
                from = begin + inside.len();
            }
            None => from = start + 1,
        }
    }
    found
}

/// Where the next box starts at or after a position, and where its command ends.
fn next_box(text: &str, from: usize) -> Option<(usize, usize)> {
    ["\\boxed", "\\fbox"]
        .iter()
        .filter_map(|command| {
            text[from..]
                .find(command)
                .map(|at| (from + at, from + at + command.len()))
        })
        .min()
}

/// What is in the braces that a text starts with, or its first token.
fn contents(text: &str) -> Option<&str> {
    let trimmed = text.trim_start();
    let Some(inside) = trimmed.strip_prefix('{') else {
        // `\boxedtext` is another command.
        let token = trimmed.split([' ', '\n', '$', ',']).next()?;
        return (trimmed.len() < text.len() && !token.is_empty()).then_some(token);
    };
    let mut depth = 1_u32;
    let mut is_escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(&inside[..at]);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::last_boxed;

    #[test]
    fn the_last_complete_box_counts() {
        assert_eq!(
            last_boxed(r"so \boxed{1} or rather \boxed{\frac{1}{2}}."),
            Some(r"\frac{1}{2}")
        );
        assert_eq!(last_boxed(r"\boxed{1} and \boxed{2"), Some("1"));
        assert_eq!(last_boxed(r"\boxed{a \boxed{b} c}"), Some(r"a \boxed{b} c"));
        assert_eq!(last_boxed(r"\boxed{\left\{1,2\right\}}"), Some(r"\left\{1,2\right\}"));
        assert_eq!(last_boxed(r"$\boxed 5$"), Some("5"));
        assert_eq!(last_boxed(r"\fbox{7}"), Some("7"));
        assert_eq!(last_boxed(r"\boxed{}"), Some(""));
        assert_eq!(last_boxed(r"\boxedtext nothing"), None);
        assert_eq!(last_boxed("nothing"), None);
        assert_eq!(last_boxed("\\boxed"), None);
        assert_eq!(last_boxed("é\\boxed{é}é"), Some("é"));
    }
}
