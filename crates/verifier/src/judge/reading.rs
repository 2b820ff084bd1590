//! What of a mathematical text is compared.

use lyceum_core::answer::last_boxed;
use std::borrow::Cow;

use super::notation::in_common_notation;

/// Maximum length of an answer.
const MAX_ANSWER: usize = 10_000;

/// A text as Math-Verify is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether it is part of a response, in which Math-Verify looks for the answer, and not the answer itself.
    pub(super) is_response: bool,
}

impl<'a> Reading<'a> {
    /// Reads a text, or says why it cannot be compared.
    ///
    /// The answer is the contents of its only box; without one, the formula that is all of it, or the text as it is.
    /// Math-Verify finds the answer itself where this is not enough: in several boxes, which may be one answer; before a
    /// later "final answer"; and among words, if there are formulas between dollars or `\( \)` or `\[ \]`.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let boxes: Vec<usize> =
            ["\\boxed", "\\fbox"].iter().flat_map(|command| text.match_indices(command).map(|(at, _)| at)).collect();
        let last = boxes.iter().max().map_or("", |at| &text[*at..]);
        let is_response = match (boxes.len(), last_boxed(text)) {
            (0, _) => formula(text).is_none() && has_formulas(text),
            (1, Some(_)) => last.to_ascii_lowercase().contains("final answer"),
            (1, None) => false,
            _ => true,
        };
        let text = if is_response {
            Cow::Borrowed(end(text))
        } else {
            in_common_notation(last_boxed(text).or_else(|| formula(text)).unwrap_or(text).trim())
        };
        if text.is_empty() {
            return Err("is empty".to_owned());
        }
        if text.len() > MAX_ANSWER {
            return Err(format!("has {} bytes; at most {MAX_ANSWER} are read", text.len()));
        }
        if text.contains('\0') {
            return Err("holds a NUL character".to_owned());
        }
        Ok(Self { text, is_response })
    }
}

/// The end of a long response, where its answer is.
fn end(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MAX_ANSWER);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

const DELIMITERS: [(&str, &str); 4] = [("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")];

/// The formula between delimiters, if the text is nothing else.
fn formula(text: &str) -> Option<&str> {
    DELIMITERS.iter().find_map(|(open, close)| {
        let inside = text.strip_prefix(open)?.strip_suffix(close)?;
        let has_more =
            dollars(inside).next().is_some() || [r"\(", r"\)", r"\[", r"\]"].iter().any(|mark| inside.contains(mark));
        (!has_more).then_some(inside)
    })
}

/// Whether the text has formulas between delimiters. A list of formulas that lost the dollars around it, as in
/// `x=1$, $y=2`, has none.
fn has_formulas(text: &str) -> bool {
    let pairs = |open, close| text.find(open).is_some_and(|at| text[at..].contains(close));
    if pairs(r"\(", r"\)") || pairs(r"\[", r"\]") {
        return true;
    }
    let dollars: Vec<usize> = dollars(text).collect();
    let [first, second, ..] = dollars.as_slice() else { return false };
    let between = if second - first == 1 { "formula" } else { text[first + 1..*second].trim() };
    let follows_digit = text[..*first].ends_with(|before: char| before.is_ascii_digit());
    let is_separator = between.is_empty() || between.starts_with(',') || ["and", "or"].contains(&between);
    dollars.len().is_multiple_of(2) && !follows_digit && !is_separator
}

/// The dollars that are not escaped.
fn dollars(text: &str) -> impl Iterator<Item = usize> + '_ {
    let is_plain = |at: &usize| !text[..*at].ends_with('\\');
    text.match_indices('$').map(|(at, _)| at).filter(is_plain)
}

/// Whether two texts are the same up to the delimiters of formulas, white space and a final stop.
pub(super) fn are_same_text(left: &str, right: &str) -> bool {
    let left = essence(left);
    !left.is_empty() && left == essence(right)
}

/// A text without delimiters of formulas, without a final stop, and with a space only between two words or two numbers.
fn essence(text: &str) -> String {
    const DROPPED: [&str; 4] = ["\\left", "\\right", "\\quad", "\\qquad"];
    let mut kept = String::with_capacity(text.len());
    let mut is_apart = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let is_dropped = match first {
            '\\' => {
                let name = rest[1..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len() - 1);
                length += match name {
                    0 => rest[1..].chars().next().map_or(0, char::len_utf8),
                    _ => name,
                };
                DROPPED.contains(&&rest[..length])
                    || (name == 0 && rest[1..].starts_with(['(', ')', '[', ']', ',', ';', ':', '!', ' ']))
            }
            '$' | '~' => true,
            _ => first.is_whitespace(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if is_dropped {
            is_apart = true;
            continue;
        }
        let are_alike =
            |a: char, b: char| (a.is_alphabetic() && b.is_alphabetic()) || (a.is_numeric() && b.is_numeric());
        if is_apart && kept.ends_with(|last| are_alike(last, first)) {
            kept.push(' ');
        }
        is_apart = false;
        kept.push_str(token);
    }
    if kept.ends_with('.') && !kept.ends_with("..") {
        kept.pop();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{Reading, are_same_text};

    #[test]
    fn texts_are_the_same_up_to_delimiters_spaces_and_a_final_stop() {
        for (left, right) in [
            (r"No solution : $\oslash$", r"No solution: \oslash"),
            ("(x, y)=(1,0)$.", "$(x,y) = (1, 0)$"),
            ("Solution is: $[x=-1, y=-5]$", r"Solution is: \([x=-1,y=-5]\)."),
            (r"\left( 1,\, 2 \right)", "(1,2)"),
            ("two  words", "two\nwords."),
            (r"\[ x \]", "x"),
        ] {
            assert!(are_same_text(left, right), "{left} {right}");
        }
        for (left, right) in [
            ("1 2", "12"),
            ("1 1/2", "11/2"),
            ("a b", "ab"),
            (r"\$5", "5"),
            ("1, 2, ...", "1, 2"),
            ("x", "X"),
            (r"1 \\ [2]", "1 [2]"),
            ("5!", "5"),
            ("", "$ $"),
            (".", "$"),
        ] {
            assert!(!are_same_text(left, right), "{left} {right}");
        }
    }

    #[test]
    fn answers_are_told_from_responses() {
        for (text, read, is_response) in [
            (" 5 ", "5", false),
            (r"so $\boxed{5}$.", "5", false),
            (r"$5$", "5", false),
            (r"$$ 5 $$", "5", false),
            (r"\( 5 \)", "5", false),
            (r"\$5", r"\$5", false),
            ("$18", "$18", false),
            (r"90^{\circ}$,$60^{\circ}", r"90^{\circ}$,$60^{\circ}", false),
            ("f(n)=n$, $g(n)=1", "f(n)=n$, $g(n)=1", false),
            ("3$ and $4", "3$ and $4", false),
            (r"\boxed{5", r"\boxed{5", false),
            ("Answer $9$", "Answer $9$", true),
            ("Answer $$ 9 $$", "Answer $$ 9 $$", true),
            (r"it is \( x \)", r"it is \( x \)", true),
            (r"\boxed{1} and \boxed{2}", r"\boxed{1} and \boxed{2}", true),
            (r"\boxed{1}. The final answer is 2", r"\boxed{1}. The final answer is 2", true),
        ] {
            assert_eq!(Reading::of(text), Ok(Reading { text: read.into(), is_response }), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_long_response_is_read() {
        let long = format!(r"{} \boxed{{1}} and \boxed{{2}}", "é".repeat(20_000));
        let read = Reading::of(&long).expect("a response");
        assert!(read.is_response && read.text.len() <= 10_000 && read.text.ends_with(r"and \boxed{2}"));
        assert!(Reading::of(&"1".repeat(10_001)).is_err());
    }
}
