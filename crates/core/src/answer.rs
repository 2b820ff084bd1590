//! Finds the answer in a model's output.

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
    Some(if first.start == last.start { last.contents } else { &text[first.start..last.end] })
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
                    found.push(Found { contents, start: at, end });
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
                    found.push(Found { contents: text[start..at].trim(), start: command, end: at + 1 });
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

/// A block between ``` fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The word after the opening fence, such as `python`; may be empty.
    pub tag: &'a str,
    /// The contents, without the line breaks next to the fences.
    pub body: &'a str,
}

impl Block<'_> {
    /// Whether the block has this tag, ignoring case; `py` counts as `python`.
    pub fn is(&self, tag: &str) -> bool {
        self.tag.eq_ignore_ascii_case(tag) || (tag == "python" && self.tag.eq_ignore_ascii_case("py"))
    }
}

/// All complete blocks of a text, in order. The tag is the rest of the opening fence's line.
pub fn fenced_blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once("```") {
        let Some((block, after)) = inside.split_once("```") else { break };
        let (tag, body) = match block.split_once('\n') {
            Some((tag, body)) if tag.trim().chars().all(|letter| letter.is_alphanumeric() || letter == '_') => {
                (tag.trim(), body)
            }
            _ => ("", block),
        };
        blocks.push(Block { tag, body: body.trim_end().trim_matches('\n') });
        rest = after;
    }
    blocks
}

/// The body of the last block with `tag`, or else of the last block with any tag.
pub fn last_block<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let blocks = fenced_blocks(text);
    let found = blocks.iter().rfind(|block| block.is(tag)).or(blocks.last());
    found.map(|block| block.body)
}

/// The text after the last `<tag>` up to the `</tag>` that follows it.
pub fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, inside) = text.rsplit_once(&format!("<{tag}>"))?;
    inside.split_once(&format!("</{tag}>")).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_complete_box_counts() {
        assert_eq!(last_boxed(r"so \boxed{1} or rather \boxed{\frac{1}{2}}."), Some(r"\frac{1}{2}"));
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
            (r"$\boxed{1}$, $\boxed 2$, and $\fbox{3}$", r"\boxed{1}$, $\boxed 2$, and $\fbox{3}"),
            (r"\[\boxed{1} \quad \text{or} \quad \boxed{2}\]", r"\boxed{1} \quad \text{or} \quad \boxed{2}"),
            (r"first \boxed{7}, then \boxed{1} and \boxed{2}", r"\boxed{1} and \boxed{2}"),
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
            .filter_map(|command| text[from..].find(command).map(|at| (from + at, from + at + command.len())))
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
        for (part, found) in
            [(r"\boxed{", None), (r"\boxed{1} ", Some("1")), (r"\boxed ", Some(r"\boxed")), (r"\boxedx", None)]
        {
            assert_eq!(last_boxed(&part.repeat(400_000)), found, "{part}");
        }
    }

    #[test]
    fn blocks_keep_their_order_tags_and_inner_lines() {
        let text = "a ```python\ndef f():\n    return 1\n``` b ```\nplain\n``` c ```py\nx";
        let blocks = fenced_blocks(text);
        assert_eq!(blocks[0], Block { tag: "python", body: "def f():\n    return 1" });
        assert_eq!(blocks[1], Block { tag: "", body: "plain" });
        assert_eq!(last_block("```input\n1\n```\n```output\n2\n```", "input"), Some("1"));
        assert_eq!(last_block("```input\n1\n```\n```output\n2\n```", "python"), Some("2"));
        assert_eq!(last_block("no block", "python"), None);
    }

    #[test]
    fn the_last_opening_tag_counts() {
        assert_eq!(tagged("<answer>1</answer> <answer>2</answer> 3", "answer"), Some("2"));
        assert_eq!(tagged("<answer>1</answer> <answer>2", "answer"), None);
        assert_eq!(tagged("1", "answer"), None);
    }
}
