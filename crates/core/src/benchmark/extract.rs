//! Extracts the solution from a model's output, suite by suite. `docs/BENCHMARKS.md` has these rules in a table.

use crate::answer::{fenced_blocks, last_boxes, tagged};

/// The program in a completion.
///
/// The search is limited to the last `<answer>`, if there is one. The first match wins: the last `python` block that
/// defines `entry_point`, the last `python` block, the last block with any tag, a block that was opened and never
/// closed, the text as it is. If the result does not define `entry_point` but the `prompt` of a completion suite does,
/// it continues that prompt.
pub fn code_of(completion: &str, entry_point: Option<&str>, prompt: Option<&str>) -> String {
    let text = tagged(completion, "answer").unwrap_or(completion);
    let blocks = fenced_blocks(text);
    let defines = |code: &str| entry_point.is_none_or(|name| defines_function(code, name));
    let python = || blocks.iter().filter(|block| block.is("python"));
    let block = python()
        .rfind(|block| defines(block.body))
        .or_else(|| python().next_back())
        .or(blocks.last())
        .map(|block| block.body.to_owned());
    let code = block.or_else(|| unclosed(text)).unwrap_or_else(|| text.to_owned());
    match prompt {
        Some(prompt) if !defines(&code) => format!("{prompt}{code}"),
        _ => code,
    }
}

/// Whether a line of `code` starts the definition of the function `name`.
pub(super) fn defines_function(code: &str, name: &str) -> bool {
    code.lines().any(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("def ")
            .map(str::trim_start)
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.trim_start().starts_with('('))
    })
}

/// The text after an opening fence that is never closed: the completion was cut at its limit, or it continues a prompt
/// that opened the fence.
fn unclosed(text: &str) -> Option<String> {
    let (before, inside) = text.split_once("```")?;
    match inside.split_once('\n') {
        Some((tag, body)) if is_opening(before, tag.trim()) && !body.trim().is_empty() => Some(body.to_owned()),
        // A lone closing fence: the prompt opened the block.
        _ => Some(before.to_owned()),
    }
}

/// Whether a fence opens a block: it has a tag, or there is no open block to close.
fn is_opening(before: &str, tag: &str) -> bool {
    !tag.contains(' ') && (!tag.is_empty() || before.trim().is_empty())
}

/// The answer in a completion of a mathematics question.
///
/// The search is limited to the last `<answer>`, if there is one and it is not empty. The first match wins: the last
/// `\boxed{}`, with those that it is joined to; the text after the last `####`; the text after the last "answer is" or "answer:"; the whole text, if it
/// was inside an `<answer>` or is one short line that is not a sentence about a number; the last number. `None` if nothing matches.
pub fn mathematics_of(completion: &str) -> Option<String> {
    let inside = tagged(completion, "answer").map(str::trim).filter(|text| !text.is_empty());
    if inside.and_then(last_boxes).is_none()
        && let Some(boxed) = last_boxes(completion)
    {
        return Some(boxed.to_owned()).filter(|boxed| !boxed.is_empty());
    }
    let text = inside.unwrap_or(completion);
    if let Some(boxed) = last_boxes(text) {
        return Some(boxed.to_owned()).filter(|boxed| !boxed.is_empty());
    }
    let found = after_last(text, "####").or_else(|| after_answer(text));
    if let Some(found) = found.map(stripped).filter(|found| !found.is_empty()) {
        return Some(found.to_owned());
    }
    let whole = stripped(text);
    if inside.is_some() || is_bare(whole) && !is_about_a_number(whole) {
        return Some(whole.to_owned()).filter(|whole| !whole.is_empty());
    }
    last_number(text).map(str::to_owned)
}

/// Whether the text is an answer by itself: one line that is not a sentence.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.contains('\n') && text.split_whitespace().count() <= 6
}

/// Whether the text says something of its only number: `He needs 10 minutes`, but not `18 eggs`.
fn is_about_a_number(text: &str) -> bool {
    const NOTATION: [&str; 10] = ["sin", "cos", "tan", "cot", "log", "ln", "exp", "sqrt", "pi", "and"];
    let Some(at) = text.find(|letter: char| letter.is_ascii_digit()) else { return false };
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
    let after = text[at..].trim_start_matches(is_part);
    let mut words = text[..at].split(|letter: char| !letter.is_alphabetic());
    !text.contains('\\')
        && !after.contains(|letter: char| letter.is_ascii_digit())
        && words.any(|word| word.chars().count() > 1 && !NOTATION.contains(&word))
}

fn after_last<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.rsplit_once(mark).map(|(_, after)| after.lines().next().unwrap_or(""))
}

fn after_answer(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let at = ["answer is", "answer:"].iter().filter_map(|mark| lower.rfind(mark).map(|at| at + mark.len())).max()?;
    let line = text[at..].trim_start().lines().next()?;
    // A full stop ends the sentence unless a digit follows it.
    let end = line
        .match_indices('.')
        .map(|(at, _)| at)
        .find(|&at| !line[at + 1..].starts_with(|next: char| next.is_ascii_digit()))
        .unwrap_or(line.len());
    // `18, not 20`.
    let answer = &line[..end];
    Some(answer.split_once(", not ").map_or(answer, |(answer, _)| answer))
}

/// Strips spaces, math dollars and a full stop from both ends.
fn stripped(text: &str) -> &str {
    let text = text.trim().trim_start_matches(':').trim();
    let text = text.strip_suffix('.').unwrap_or(text).trim_matches('*').trim();
    match text.strip_prefix('$').and_then(|text| text.strip_suffix('$')) {
        Some(inside) if !inside.contains('$') => inside.trim(),
        _ => text,
    }
}

fn last_number(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '/');
    let end = text.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let mut start = text[..end]
        .rfind(|letter: char| !is_part(letter))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    // A minus sign is a sign only if it is not between two numbers.
    if let Some(before) = text[..start].strip_suffix('-')
        && !before.ends_with(char::is_alphanumeric)
    {
        start -= 1;
    }
    Some(text[start..end].trim_start_matches([',', '.', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_block_that_defines_the_function_is_the_program() {
        let text = "First:\n```python\ndef add(a, b):\n    return a + b\n```\nthen\n```python\nprint(add(1, 2))\n```";
        assert_eq!(code_of(text, Some("add"), None), "def add(a, b):\n    return a + b");
        assert_eq!(code_of(text, None, None), "print(add(1, 2))");
        assert_eq!(code_of("```\nx = 1\n```", None, None), "x = 1");
        assert_eq!(
            code_of(
                "<think>```python\ndef f(): pass\n```</think><answer>```python\ndef f(): return 1\n```</answer>",
                Some("f"),
                None
            ),
            "def f(): return 1"
        );
        assert_eq!(code_of("```python\ndef f(a):\n    return a", Some("f"), None), "def f(a):\n    return a");
        assert_eq!(code_of("def add_all(a):\n    pass", Some("add"), Some("P\n")), "P\ndef add_all(a):\n    pass");
    }

    #[test]
    fn what_only_continues_a_prompt_is_put_behind_it() {
        let prompt = "def add(a, b):\n    \"\"\"Adds.\"\"\"\n";
        assert_eq!(code_of("    return a + b\n", Some("add"), Some(prompt)), format!("{prompt}    return a + b\n"));
        assert_eq!(code_of("def add(a, b): return a + b", Some("add"), Some(prompt)), "def add(a, b): return a + b");
        assert_eq!(
            code_of("    return 1\n```\nThat is it.", Some("add"), Some(prompt)),
            format!("{prompt}    return 1\n")
        );
    }

    #[test]
    fn the_box_counts_then_marks_then_numbers() {
        for (text, answer) in [
            (r"so $\boxed{\frac{1}{2}}$.", Some(r"\frac{1}{2}")),
            (r"\boxed{1} <answer>it is two</answer>", Some("1")),
            (r"<answer>\boxed{3}</answer> or \boxed{4}", Some("3")),
            (r"So $\boxed{1}$ and $\boxed{2}$ are the roots.", Some(r"\boxed{1}$ and $\boxed{2}")),
            (r"Not \boxed{1}. It is \boxed{2}.", Some("2")),
            ("She has 5.\n#### 1,234", Some("1,234")),
            ("The final answer is $x = 3$. I hope it is correct.", Some("x = 3")),
            ("**Answer:** 3.5", Some("3.5")),
            ("the answer is 3.14.", Some("3.14")),
            ("18", Some("18")),
            (r"\frac{3}{4}", Some(r"\frac{3}{4}")),
            ("Janet sells 9 eggs, so every day she makes exactly $18 at the market.", Some("18")),
            ("it must be all of -7 apples in the end, I would say", Some("-7")),
            ("what is left over after all of it is then 12 - 5, or 12-5", Some("5")),
            ("The profit is $70,000.", Some("70,000")),
            ("He needs 10 minutes to finish", Some("10")),
            ("Antwort: 7", Some("7")),
            ("the answer is 18, not 20", Some("18")),
            ("18 eggs", Some("18 eggs")),
            ("It takes 5 hours 20 minutes", Some("It takes 5 hours 20 minutes")),
            ("sin 30", Some("sin 30")),
            ("I do not know what I should say about all this", None),
            ("", None),
            (r"\boxed{}", None),
        ] {
            assert_eq!(mathematics_of(text).as_deref(), answer, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,80}", more in "(```|<answer>|</answer>|answer is|\\\\boxed\\{|####|é|1|\\.|\n){0,12}") {
            let text = text + &more;
            code_of(&text, Some("f"), Some("def f():\n"));
            if let Some(answer) = mathematics_of(&text) {
                prop_assert!(!answer.is_empty());
            }
        }
    }
}
