//! `\boxed{}`, the usual mark of a mathematical answer.

/// The contents of the last complete `\boxed{..}` or `\fbox{..}`, with balanced braces; for `\boxed 5`, the next token.
///
/// A nested box belongs to the outer one. Escaped braces do not count.
#[must_use]
pub fn last_boxed(text: &str) -> Option<&str> {
    boxes(text).pop().map(|last| last.contents)
}

/// The answer in the last box or, if a comma, `and` or `or` joins it to boxes before it, the text from the first of these to
/// the last, as in `\boxed{1} and \boxed{2}`: Math-Verify takes joined boxes for one answer.
#[must_use]
pub fn last_boxes(text: &str) -> Option<&str> {
    let boxes = boxes(text);
    let last = boxes.last()?;
    let mut first = last;
    for before in boxes.iter().rev().skip(1) {
        if !joins(&text[before.end..first.start]) {
            break;
        }
        first = before;
    }
    Some(match first.start == last.start {
        true => last.contents,
        false => &text[first.start..last.end],
    })
}

/// Whether a text between two boxes makes them one answer. Marks of formulas do not count.
fn joins(between: &str) -> bool {
    const LONGEST: usize = 40;
    if between.len() > LONGEST {
        return false;
    }
    let mut words = between.to_ascii_lowercase();
    for mark in [r"\(", r"\)", r"\[", r"\]", r"\text", r"\quad", "$", "{", "}"] {
        words = words.replace(mark, "");
    }
    words.retain(|letter| !letter.is_whitespace());
    matches!(words.as_str(), "," | "and" | "or" | ",and" | ",or")
}

/// A complete box: its contents, and where its command begins and it ends.
struct Found<'a> {
    contents: &'a str,
    start: usize,
    end: usize,
}

/// The complete boxes in the order of their ends, without those in another.
fn boxes(text: &str) -> Vec<Found<'_>> {
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut depth = 0_usize;
    // Open boxes: the depth inside, where the contents start, and the command.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let mut opener = None;
    let mut is_escaped = false;
    // Commands before this offset belong to a token already taken.
    let mut taken = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'\\' && at >= taken {
            match boxed(text, at) {
                Some(Boxed::Brace(brace)) => opener = Some((brace, at)),
                Some(Boxed::Token(start, end)) => {
                    let contents = &text[start..end];
                    found.push(Found {
                        contents,
                        start: at,
                        end,
                    });
                    taken = end;
                }
                None => {}
            }
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => {
                depth += 1;
                if let Some((_, command)) = opener.filter(|(brace, _)| *brace == at) {
                    open.push((depth, at + 1, command));
                }
            }
            b'}' => {
                if let Some((_, start, command)) = open.pop_if(|(inside, ..)| *inside == depth) {
                    while found.pop_if(|inner| inner.start > command).is_some() {}
                    found.push(Found {
                        contents: text[start..at].trim(),
                        start: command,
                        end: at + 1,
                    });
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}

/// How a box delimits its contents.
enum Boxed {
    /// Braces; the first is at this offset.
    Brace(usize),
    /// No braces: a token from the first offset to the second.
    Token(usize, usize),
}

/// The box whose command is at offset `at`.
fn boxed(text: &str, at: usize) -> Option<Boxed> {
    let rest = &text[at..];
    let after = rest.strip_prefix("\\boxed").or_else(|| rest.strip_prefix("\\fbox"))?;
    let inside = after.trim_start();
    let start = text.len() - inside.len();
    if inside.starts_with('{') {
        return Some(Boxed::Brace(start));
    }
    // `\boxedtext` is another command.
    if inside.len() == after.len() {
        return None;
    }
    let token = inside
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '$' | ','))
        .next()
        .filter(|token| !token.is_empty())?;
    Some(Boxed::Token(start, start + token.len()))
}

#[cfg(test)]
mod tests {
    use super::{last_boxed, last_boxes};
    use proptest::prelude::*;

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
        assert_eq!(last_boxed("\\boxed 5\t6, \\boxed\u{b}7\u{b}8"), Some("7"));
        assert_eq!(last_boxed(r"\fbox{7}"), Some("7"));
        assert_eq!(last_boxed(r"\boxed{}"), Some(""));
        assert_eq!(last_boxed(r"\boxedtext nothing"), None);
        assert_eq!(last_boxed("nothing"), None);
        assert_eq!(last_boxed("\\boxed"), None);
        assert_eq!(last_boxed("é\\boxed{é}é"), Some("é"));
    }

    #[test]
    fn joined_boxes_are_one_answer() {
        for (text, answer) in [
            (r"so \boxed{1}.", "1"),
            (r"\boxed{(2,2)} and \boxed{(6,2)}.", r"\boxed{(2,2)} and \boxed{(6,2)}"),
            (
                r"$\boxed{1}$, $\boxed 2$, and $\fbox{3}$",
                r"\boxed{1}$, $\boxed 2$, and $\fbox{3}",
            ),
            (
                r"\[\boxed{1} \quad \text{or} \quad \boxed{2}\]",
                r"\boxed{1} \quad \text{or} \quad \boxed{2}",
            ),
            (
                r"first \boxed{7}, then \boxed{1} and \boxed{2}",
                r"\boxed{1} and \boxed{2}",
            ),
            (r"\boxed{7}. And so \boxed{8}", "8"),
            (r"\boxed{7} \boxed{8}", "8"),
            (r"\boxed{\boxed{1}, \boxed{2}}", r"\boxed{1}, \boxed{2}"),
            (r"\boxed{1}, \boxed{2", "1"),
        ] {
            assert_eq!(last_boxes(text), Some(answer), "{text}");
        }
        assert_eq!(last_boxes("nothing"), None);
    }

    /// A direct reading of the rule: after a complete box the search continues behind it, after an open one inside it.
    fn by_the_rule(text: &str) -> Option<&str> {
        let mut found = None;
        let mut from = 0;
        while let Some(at) = ["\\boxed", "\\fbox"]
            .iter()
            .filter_map(|command| {
                text[from..]
                    .find(command)
                    .map(|at| (from + at, from + at + command.len()))
            })
            .min()
        {
            from = match contents(&text[at.1..]) {
                Some(inside) => {
                    found = Some(inside.trim());
                    inside.as_ptr() as usize - text.as_ptr() as usize + inside.len()
                }
                None => at.0 + 1,
            };
        }
        found
    }

    fn contents(text: &str) -> Option<&str> {
        let trimmed = text.trim_start();
        let Some(inside) = trimmed.strip_prefix('{') else {
            let ends = |letter: char| letter.is_whitespace() || ['$', ','].contains(&letter);
            let token = trimmed.split(ends).next()?;
            return (trimmed.len() < text.len() && !token.is_empty()).then_some(token);
        };
        let (mut depth, mut is_escaped) = (1, false);
        for (at, byte) in inside.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(&inside[..at]);
            }
        }
        None
    }

    proptest! {
        #[test]
        fn every_text_is_read_by_the_rule(text in r"(\\boxed|\\fbox|\\|\{|\}| |\$|,|x|é|\n|\t){0,24}") {
            prop_assert_eq!(last_boxed(&text), by_the_rule(&text));
        }
    }

    #[test]
    fn a_text_of_boxes_alone_is_read_once() {
        // The direct reading would take hours for each of these.
        for (part, found) in [
            (r"\boxed{", None),
            (r"\boxed{1} ", Some("1")),
            (r"\boxed ", Some(r"\boxed")),
            (r"\boxedx", None),
        ] {
            assert_eq!(last_boxed(&part.repeat(400_000)), found, "{part}");
        }
    }
}
