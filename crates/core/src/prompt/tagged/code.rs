//! Proposals and answers about Python programs, with the tags `<program>`, `<input>`, `<message>` and `<answer>`.

use super::read;
use crate::{
    answer::last_block,
    prompt::{Answer, Field, ProposalText},
    verify::ProblemKind,
    work::FinishReason,
};

const MESSAGE: Field = Field::last("message");
const PROGRAM: Field = Field::last("program");
const ANSWER: Field = Field::last("answer");

pub(crate) fn proposal(
    problem: ProblemKind,
    text: &str,
    finish: FinishReason,
    opening: &str,
    num_inputs: usize,
) -> Result<ProposalText, String> {
    match problem {
        ProblemKind::CodeI | ProblemKind::CodeO => {
            let reading = read(&[PROGRAM, Field::times("input", 1)], text, finish, opening);
            Ok(ProposalText::Io {
                program: unfenced(reading.text("program")?, "python"),
                // A function without parameters has an empty list of arguments.
                input: unfenced(&reading.texts("input")?.concat(), "input"),
            })
        }
        ProblemKind::CodeF => {
            let reading = read(&[Field::times("input", num_inputs), MESSAGE], text, finish, opening);
            let inputs = reading.texts("input")?.iter();
            Ok(ProposalText::Function {
                inputs: inputs.map(|input| unfenced(input, "input")).collect(),
                message: unfenced(reading.text("message")?, "message"),
            })
        }
        ProblemKind::Math | ProblemKind::Code => Err(format!("{} proposals are not read as code", problem.name())),
    }
}

/// The program in a proposal.
pub(crate) fn program(text: &str, finish: FinishReason, opening: &str) -> Result<String, String> {
    let reading = read(&[PROGRAM], text, finish, opening);
    Ok(unfenced(reading.text("program")?, "python"))
}

pub(crate) fn answer(problem: ProblemKind, text: &str, finish: FinishReason, opening: &str) -> Answer {
    let reading = read(&[ANSWER], text, finish, opening);
    let block = match problem {
        ProblemKind::CodeI => "input",
        ProblemKind::CodeO => "output",
        ProblemKind::CodeF | ProblemKind::Code => "python",
        ProblemKind::Math => return Ok(reading.text("answer")?.to_owned()),
    };
    Ok(unfenced(reading.text("answer")?, block))
}

/// The contents of the block that models like to put code in, or the text itself.
fn unfenced(text: &str, block: &str) -> String {
    last_block(text, block).unwrap_or(text).to_owned()
}
