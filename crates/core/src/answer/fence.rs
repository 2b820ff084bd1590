//! Fenced blocks and tags.

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
        let Some((block, after)) = inside.split_once("```") else {
            break;
        };
        let (tag, body) = match block.split_once('\n') {
            Some((tag, body))
                if tag
                    .trim()
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_') =>
            {
                (tag.trim(), body)
            }
            _ => ("", block),
        };
        blocks.push(Block {
            tag,
            body: body.trim_end().trim_matches('\n'),
        });
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
    use super::*;

    #[test]
    fn blocks_keep_their_order_tags_and_inner_lines() {
        let text = "a ```python\ndef f():\n    return 1\n``` b ```\nplain\n``` c ```py\nx";
        let blocks = fenced_blocks(text);
        assert_eq!(
            blocks[0],
            Block {
                tag: "python",
                body: "def f():\n    return 1"
            }
        );
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
