//! The compact grammar: parts between markers. `configs/prompts/seedling/README.md` has the format.

use super::{Answer, ProposalText};
use crate::{verify::ProblemType, work::FinishReason};

const MARKERS: [&str; 11] = [
    "<po>", "<pi>", "<pf>", "<so>", "<si>", "<sf>", "<ref>", "<prog>", "<in>", "<out>", "<msg>",
];

pub(super) fn proposal(
    problem: ProblemType,
    text: &str,
    finish: FinishReason,
    num_inputs: usize,
) -> Result<ProposalText, String> {
    complete(finish)?;
    match problem {
        ProblemType::CodeI | ProblemType::CodeO => {
            let (program, input) = text
                .split_once("<in>")
                .ok_or("there is no <in> between a program and its arguments")?;
            Ok(ProposalText::Io {
                program: part("program", program)?,
                input: bare("arguments", input)?.trim().to_owned(),
            })
        }
        ProblemType::CodeF => {
            let (inputs, message) = text.split_once("<msg>").ok_or("there is no <msg> before a message")?;
            let mut inputs = inputs
                .split("<in>")
                .map(|input| part("arguments", input))
                .collect::<Result<Vec<_>, _>>()?;
            if inputs.len() < num_inputs {
                return Err(format!("{} argument lists where {num_inputs} are needed", inputs.len()));
            }
            inputs.drain(..inputs.len() - num_inputs);
            Ok(ProposalText::Function {
                inputs,
                message: part("message", message)?,
            })
        }
    }
}

pub(super) fn answer(text: &str, finish: FinishReason) -> Answer {
    complete(finish)?;
    part("answer", text)
}

fn complete(finish: FinishReason) -> Result<(), String> {
    match finish {
        FinishReason::Stop => Ok(()),
        FinishReason::Length => Err("it was cut at the token limit".to_owned()),
    }
}

/// A part that must not be empty. Leading spaces are part of a program.
fn part(name: &str, text: &str) -> Result<String, String> {
    let text = bare(name, text)?.trim_end();
    if text.trim_start().is_empty() {
        return Err(format!("the {name} is empty"));
    }
    Ok(text.to_owned())
}

fn bare<'a>(name: &str, text: &'a str) -> Result<&'a str, String> {
    match MARKERS.iter().find(|marker| text.contains(**marker)) {
        Some(marker) => Err(format!("there is a {marker} in the {name}")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FinishReason::{Length, Stop};
    use ProblemType::{CodeF, CodeO};

    #[test]
    fn the_parts_of_a_proposal_are_found() {
        let io = proposal(CodeO, "def f(a):\n return a<in>1,'x'", Stop, 2).unwrap();
        let expected = ProposalText::Io {
            program: "def f(a):\n return a".to_owned(),
            input: "1,'x'".to_owned(),
        };
        assert_eq!(io, expected);
        let function = proposal(CodeF, "0<in>1<in>2<msg>adds one", Stop, 2).unwrap();
        let expected = ProposalText::Function {
            inputs: vec!["1".to_owned(), "2".to_owned()],
            message: "adds one".to_owned(),
        };
        assert_eq!(function, expected);
    }

    #[test]
    fn what_lacks_a_part_or_has_one_too_many_is_malformed() {
        for (problem, text) in [
            (CodeO, ""),
            (CodeO, "def f(a):\n return a"),
            (CodeO, "<in>1"),
            (CodeO, "def f():\n return 1<in>1<in>2"),
            (CodeO, "def f(a):\n return a<in>1<out>1"),
            (CodeF, "1<msg>one"),
            (CodeF, "1<in>2"),
            (CodeF, "1<in>2<msg>"),
            (CodeF, "1<in><in>2<msg>x"),
        ] {
            assert!(proposal(problem, text, Stop, 2).is_err(), "{text}");
        }
        let function_without_parameters = proposal(CodeO, "def f():\n return 1<in>", Stop, 2);
        assert!(
            function_without_parameters.is_ok(),
            "whether it fits is for the verifier to say"
        );
        assert!(proposal(CodeO, "def f(a):\n return a<in>1", Length, 2).is_err());
        assert!(answer("", Stop).is_err() && answer("1<in>2", Stop).is_err() && answer("1", Length).is_err());
        assert_eq!(answer("[1,2]", Stop).unwrap(), "[1,2]");
    }
}
