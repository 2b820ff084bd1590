//! The compact grammar: parts between markers. `configs/prompts/seedling/README.md` describes the format.

use super::reading::Part;
use super::{Answer, Field, ProposalText, Reading, Take};
use crate::verify::ProblemKind;
use crate::work::FinishReason;

const MARKERS: [&str; 15] = [
    "<po>",
    "<pi>",
    "<pf>",
    "<so>",
    "<si>",
    "<sf>",
    "<ref>",
    "<prog>",
    "<in>",
    "<out>",
    "<msg>",
    "<lemma_io>",
    "<lemma_f>",
    "<lift_io>",
    "<lift_f>",
];

pub(super) fn proposal(
    problem: ProblemKind,
    text: &str,
    finish: FinishReason,
    num_inputs: usize,
) -> Result<ProposalText, String> {
    complete(finish)?;
    match problem {
        ProblemKind::CodeI | ProblemKind::CodeO => {
            let (program, input) = before_inputs(text)?;
            Ok(ProposalText::Io { program, input: bare("arguments", input)?.trim().to_owned() })
        }
        ProblemKind::CodeF => {
            let (inputs, message) = text.split_once("<msg>").ok_or("there is no <msg> before a message")?;
            let mut inputs =
                inputs.split("<in>").map(|input| part("arguments", input)).collect::<Result<Vec<_>, _>>()?;
            if inputs.len() < num_inputs {
                return Err(format!("{} argument lists where {num_inputs} are needed", inputs.len()));
            }
            inputs.drain(..inputs.len() - num_inputs);
            Ok(ProposalText::Function { inputs, message: part("message", message)? })
        }
        ProblemKind::Math | ProblemKind::Code => {
            Err(format!("the compact grammar has no {} proposals", problem.name()))
        }
    }
}

/// The program at the start of a text, and what follows the first `<in>`.
pub(super) fn before_inputs(text: &str) -> Result<(String, &str), String> {
    let (program, inputs) = text.split_once("<in>").ok_or("there is no <in> between a program and its arguments")?;
    Ok((part("program", program)?, inputs))
}

/// Reads any fields: the first starts the completion, every other one follows its marker `<name>`, in the order of
/// `fields`. Each further occurrence of a field repeats the marker. No other text that looks like a marker is allowed.
pub(super) fn read(fields: &[Field], text: &str, finish: FinishReason) -> Reading {
    if let Err(reason) = complete(finish) {
        return Reading::broken(fields, text, &reason);
    }
    let mut found: Vec<Option<&str>> = vec![None; fields.len()];
    let (mut at, mut rest) = (0, text);
    for (next, field) in fields.iter().enumerate().skip(1) {
        if let Some((before, after)) = rest.split_once(&marker(field)) {
            found[at] = Some(before);
            (at, rest) = (next, after);
        }
    }
    if let Some(last) = found.get_mut(at) {
        *last = Some(rest);
    }
    let parts = fields.iter().zip(found).map(|(field, text)| {
        let marker = marker(field);
        let texts: Vec<&str> = match field.take {
            Take::LastOf(_) => text.into_iter().flat_map(|text| text.split(marker.as_str())).collect(),
            Take::First | Take::Last | Take::Boxed => text.into_iter().collect(),
        };
        let stray = texts.iter().find_map(|text| any_marker(text)).map(str::to_owned);
        match stray {
            Some(stray) => {
                Part::counted(field, Vec::new(), 0, &marker).broken(format!("there is a {stray} in the {}", field.name))
            }
            None => Part::counted(field, texts, 0, &marker),
        }
    });
    Reading::of(text, parts)
}

fn marker(field: &Field) -> String {
    format!("<{}>", field.name)
}

/// The first word of lower-case letters and `_` between `<` or `</` and `>`.
fn any_marker(text: &str) -> Option<&str> {
    text.match_indices('<').find_map(|(start, _)| {
        let word = &text[start + 1..];
        let word = word.strip_prefix('/').unwrap_or(word);
        let after = word.trim_start_matches(|letter: char| letter.is_ascii_lowercase() || letter == '_');
        let end = text.len() - after.len();
        (after.starts_with('>') && after.len() < word.len()).then(|| &text[start..=end])
    })
}

/// The answer is what follows the last marker of the task itself; a text without it is an answer as a whole. What comes
/// before is the model's own affair.
pub(super) fn answer(problem: ProblemKind, text: &str, finish: FinishReason) -> Answer {
    complete(finish)?;
    let marker = match problem {
        ProblemKind::CodeO => "<so>",
        ProblemKind::CodeI => "<si>",
        ProblemKind::CodeF => "<sf>",
        ProblemKind::Math | ProblemKind::Code => return part("answer", text),
    };
    part("answer", text.rsplit_once(marker).map_or(text, |(_, answer)| answer))
}

fn complete(finish: FinishReason) -> Result<(), String> {
    match finish {
        FinishReason::Stop => Ok(()),
        FinishReason::Length => Err("it was cut at the token limit".to_owned()),
    }
}

/// A part that must not be empty. Leading spaces belong to the program.
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
    use crate::verify::ProblemKind::{CodeF, CodeI, CodeO};
    use crate::work::FinishReason::{Length, Stop};

    #[test]
    fn the_parts_of_a_proposal_are_found() {
        let io = proposal(CodeO, "def f(a):\n return a<in>1,'x'", Stop, 2).unwrap();
        let expected = ProposalText::Io { program: "def f(a):\n return a".to_owned(), input: "1,'x'".to_owned() };
        assert_eq!(io, expected);
        let function = proposal(CodeF, "0<in>1<in>2<msg>adds one", Stop, 2).unwrap();
        let expected =
            ProposalText::Function { inputs: vec!["1".to_owned(), "2".to_owned()], message: "adds one".to_owned() };
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
        assert!(function_without_parameters.is_ok(), "the verifier decides whether it is correct");
        assert!(proposal(CodeO, "def f(a):\n return a<in>1", Length, 2).is_err());
    }

    #[test]
    fn an_answer_is_the_whole_text_or_what_follows_the_steps() {
        for text in ["", "1<in>2", "1<si>2", "#r=1;r=2<so>", "#r=1<so>1<in>2"] {
            assert!(answer(CodeO, text, Stop).is_err(), "{text}");
        }
        assert!(answer(CodeO, "1", Length).is_err() && answer(CodeO, "#r=1<so>1", Length).is_err());
        assert_eq!(answer(CodeO, "[1,2]", Stop).unwrap(), "[1,2]");
        assert_eq!(answer(CodeO, "#r=1;r=2<so>2", Stop).unwrap(), "2");
        assert_eq!(answer(CodeO, "1<so>#r=1<so>2", Stop).unwrap(), "2");
        assert_eq!(answer(CodeI, "#1:r=2;2#3:r=4;4<si>3", Stop).unwrap(), "3");
        let program = "def f(a):\n return a";
        assert_eq!(answer(CodeF, &format!("#{program}#1<sf>{program}"), Stop).unwrap(), program);
        // Steps alone are read as an answer, which the verifier cannot parse.
        assert_eq!(answer(CodeO, "#r=1;r=2", Stop).unwrap(), "#r=1;r=2");
    }

    const QUESTION: Field = Field::last("question");
    const ANSWER: Field = Field::last("answer");

    #[test]
    fn any_fields_are_read_between_their_markers() {
        let both = read(&[QUESTION, ANSWER], "what is 2+2<answer>4", Stop);
        assert_eq!((both.text("question"), both.text("answer")), (Ok("what is 2+2"), Ok("4")));
        assert_eq!(both.score(), 1.0);
        let several = [QUESTION, Field::times("in", 2), ANSWER];
        let listed = read(&several, "q<in>1<in>2<in>3<answer>4", Stop);
        assert_eq!(listed.texts("in").unwrap(), ["2", "3"]);
        assert_eq!(listed.text("answer"), Ok("4"));
        let optional = read(&[QUESTION, Field::last("plan").optional(), ANSWER], "q<answer>4", Stop);
        assert_eq!((optional.text("answer"), optional.score()), (Ok("4"), 1.0));
    }

    #[test]
    fn fields_that_are_missing_or_hold_a_marker_are_refused_with_a_reason() {
        let missing = read(&[QUESTION, ANSWER], "what is 2+2", Stop);
        assert_eq!(missing.text("answer"), Err("there is no <answer>".to_owned()));
        let stray = read(&[ANSWER], "4<question>5", Stop);
        assert_eq!(stray.text("answer"), Err("there is a <question> in the answer".to_owned()));
        assert_eq!(stray.score(), 0.0);
        let compared = read(&[ANSWER], "1<2 and a <b> c > d", Stop);
        assert!(compared.text("answer").is_err(), "<b> looks like a marker");
        assert_eq!(read(&[ANSWER], "1<2 and 3>2", Stop).text("answer"), Ok("1<2 and 3>2"));
        assert_eq!(read(&[ANSWER], "4", Length).text("answer"), Err("it was cut at the token limit".to_owned()));
        assert_eq!(read(&[ANSWER], " ", Stop).text("answer"), Err("the answer is empty".to_owned()));
    }
}
