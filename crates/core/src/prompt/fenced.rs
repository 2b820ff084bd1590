//! Fenced blocks: anywhere in the text, or as in Absolute Zero: `<think>` reasoning `</think>`, `<answer>` blocks `</answer>`.

use std::borrow::Cow;

use super::reading::Part;
use super::{Answer, Field, ProposalText, Reading, Take};
use crate::answer::{Block, fenced_blocks, last_block, last_boxed, tagged};
use crate::verify::ProblemKind;
use crate::work::FinishReason;

pub(super) fn proposal(problem: ProblemKind, part: &str, num_inputs: usize) -> Result<ProposalText, String> {
    let blocks = fenced_blocks(part);
    match problem {
        ProblemKind::CodeI | ProblemKind::CodeO => Ok(ProposalText::Io {
            program: program_of(&blocks)?,
            input: first(&blocks, "input").ok_or("there is no ```input block in the answer")?,
        }),
        ProblemKind::CodeF => {
            let mut inputs: Vec<String> =
                blocks.iter().filter(|block| block.is("input")).map(|block| block.body.to_owned()).collect();
            if inputs.len() < num_inputs {
                return Err(format!("{} ```input blocks where {num_inputs} are needed", inputs.len()));
            }
            inputs.drain(..inputs.len() - num_inputs);
            let message = first(&blocks, "message").ok_or("there is no ```message block in the answer")?;
            Ok(ProposalText::Function { inputs, message })
        }
        ProblemKind::Math | ProblemKind::Code => Err(format!("the fenced grammar has no {} proposals", problem.name())),
    }
}

/// The text with its last block closed, if the model ended inside it by itself.
pub(super) fn closed(text: &str, finish: FinishReason) -> Cow<'_, str> {
    match finish == FinishReason::Stop && text.matches("```").count() % 2 == 1 {
        true => Cow::Owned(format!("{}\n```", text.trim_end())),
        false => Cow::Borrowed(text),
    }
}

/// The program in the answer of a proposer.
pub(super) fn program(part: &str) -> Result<String, String> {
    program_of(&fenced_blocks(part))
}

fn program_of(blocks: &[Block<'_>]) -> Result<String, String> {
    let program = first(blocks, "python").or_else(|| first(blocks, ""));
    program.ok_or_else(|| "there is no ```python block in the answer".to_owned())
}

/// The last block of the right kind, or else the last block, or else (for values) the whole answer.
pub(super) fn answer(problem: ProblemKind, part: &str) -> Answer {
    let kind = match problem {
        ProblemKind::CodeI => "input",
        ProblemKind::CodeO => "output",
        ProblemKind::CodeF | ProblemKind::Code => "python",
        ProblemKind::Math => return Err("the fenced grammar has no math answers".to_owned()),
    };
    match last_block(part, kind) {
        Some(body) => Ok(body.to_owned()),
        None if kind == "python" => Err("there is no ```python block in the answer".to_owned()),
        None if part.trim().is_empty() => Err("the answer is empty".to_owned()),
        None => Ok(part.trim().to_owned()),
    }
}

/// Reads any fields: one block named after each field, in any order. If only one field is requested and the answer has
/// no block, the whole answer is its text.
pub(super) fn read(fields: &[Field], text: &str, part: Result<&str, String>) -> Reading {
    let answer = match part {
        Ok(answer) => answer,
        Err(reason) => return Reading::broken(fields, text, &reason),
    };
    let blocks = fenced_blocks(answer);
    let is_bare = blocks.is_empty() && fields.len() == 1 && !answer.trim().is_empty();
    let parts = fields.iter().map(|field| match field.take {
        Take::Boxed => Part::boxed(field, last_boxed(answer)),
        Take::First | Take::Last | Take::LastOf(_) => {
            let own = blocks.iter().filter(|block| block.is(field.name));
            let found = if is_bare { vec![answer] } else { own.map(|block| block.body).collect() };
            Part::counted(field, found, 0, &format!("```{} block", field.name))
        }
    });
    Reading::of(text, parts)
}

fn first(blocks: &[Block<'_>], tag: &str) -> Option<String> {
    blocks.iter().find(|block| block.is(tag)).map(|block| block.body.to_owned())
}

/// The text between the last answer tags, provided the completion has the required form. Text after them is allowed.
pub(super) fn answer_part<'a>(text: &'a str, opening: &str) -> Result<&'a str, String> {
    let is_open = opening.trim_end().ends_with("<think>");
    let thought = match is_open {
        true => text,
        false => text.trim_start().strip_prefix("<think>").ok_or("it does not begin with <think>")?,
    };
    let (_, rest) = thought.split_once("</think>").ok_or("there is no </think>")?;
    if !rest.trim_start().starts_with("<answer>") {
        return Err("<answer> does not follow </think>".to_owned());
    }
    tagged(rest, "answer").ok_or_else(|| "there is no </answer>".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::ProblemKind::{CodeF, CodeI, CodeO};

    fn proposal(problem: ProblemKind, text: &str, opening: &str, num_inputs: usize) -> Result<ProposalText, String> {
        super::proposal(problem, answer_part(text, opening)?, num_inputs)
    }

    fn answer(problem: ProblemKind, text: &str, opening: &str) -> Answer {
        super::answer(problem, answer_part(text, opening)?)
    }

    fn read(fields: &[Field], text: &str, opening: &str) -> Reading {
        super::read(fields, text, answer_part(text, opening))
    }

    const OPEN: &str = "User: ..\nAssistant: <think>\n";

    #[test]
    fn a_proposal_is_found_whatever_the_order_of_its_blocks() {
        let text = "hm</think>\n<answer>```input\n1, 'x'\n```\n```python\ndef f(a, b):\n    return a\n```</answer> bye";
        let expected =
            ProposalText::Io { program: "def f(a, b):\n    return a".to_owned(), input: "1, 'x'".to_owned() };
        assert_eq!(proposal(CodeO, text, OPEN, 10).unwrap(), expected);
        let closed = format!("<think>{text}");
        assert_eq!(proposal(CodeI, &closed, "a chat template", 10).unwrap(), expected);
        assert!(proposal(CodeI, text, "a chat template", 10).is_err(), "<think> is missing");
    }

    #[test]
    fn a_function_takes_the_last_inputs_and_wants_a_message() {
        let input = |value: u32| format!("```input\n{value}\n```\n");
        let inputs = format!("{}{}{}", input(1), input(2), input(3));
        let text = format!("</think><answer>{inputs}```message\nIt adds.\n```</answer>");
        let expected =
            ProposalText::Function { inputs: vec!["2".to_owned(), "3".to_owned()], message: "It adds.".to_owned() };
        assert_eq!(proposal(CodeF, &text, OPEN, 2).unwrap(), expected);
        assert!(proposal(CodeF, &text, OPEN, 4).unwrap_err().contains("4 are needed"));
        let silent = format!("</think><answer>{inputs}</answer>");
        assert!(proposal(CodeF, &silent, OPEN, 2).unwrap_err().contains("message"));
    }

    #[test]
    fn an_answer_is_the_last_block_of_its_kind_or_the_bare_text() {
        let two = "t</think><answer>```output\n1\n```\n```output\n2\n```</answer>";
        assert_eq!(answer(CodeO, two, OPEN).unwrap(), "2");
        assert_eq!(answer(CodeO, "t</think> <answer> [1, 2] </answer>", OPEN).unwrap(), "[1, 2]");
        let program = "t</think><answer>```\ndef f(a):\n    return a\n```</answer>";
        assert_eq!(answer(CodeF, program, OPEN).unwrap(), "def f(a):\n    return a");
        for bad in [
            "",
            "1",
            "<answer>1</answer>",
            "t</think> so <answer>1</answer>",
            "t</think><answer>1",
            "t</think><answer></answer>",
        ] {
            assert!(answer(CodeO, bad, OPEN).is_err(), "{bad}");
        }
        assert!(answer(CodeF, "t</think><answer>x</answer>", OPEN).is_err());
    }

    #[test]
    fn any_fields_are_read_from_blocks_with_their_names() {
        let fields = [Field::last("lemma"), Field::times("input", 2), Field::boxed("answer")];
        let text = "t</think><answer>```input\n1\n```\n```lemma\nx\n```\n```input\n2\n``` \\boxed{3}</answer>";
        let whole = read(&fields, text, OPEN);
        assert_eq!(whole.text("lemma"), Ok("x"));
        assert_eq!(whole.texts("input").unwrap(), ["1", "2"]);
        assert_eq!((whole.text("answer"), whole.score()), (Ok("3"), 1.0));
        let bare = read(&[Field::last("answer")], "t</think><answer> 4 </answer>", OPEN);
        assert_eq!((bare.text("answer"), bare.score()), (Ok("4"), 1.0));
        let missing = read(&fields, "t</think><answer>4</answer>", OPEN);
        assert_eq!(missing.text("lemma"), Err("there is no ```lemma block".to_owned()));
        let loose = read(&fields, "4", OPEN);
        assert_eq!(loose.text("lemma"), Err("there is no </think>".to_owned()));
        assert_eq!(loose.score(), 0.0);
    }
}
