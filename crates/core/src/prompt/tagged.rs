//! The tagged grammar: fields between `<name>` and `</name>`, in any order, within any other text.
//!
//! Models may write anything, so the rules are few and cover any text:
//! - A tag is literal. `<question id="1">`, `<Question>` and `<question/>` are text.
//! - A closing tag closes the nearest open tag with its name. A tag that is never closed opens nothing, so "I shall use
//!   `<question>`" does not swallow the question that follows.
//! - Fields are read from left to right and do not overlap. Tags inside a field are part of its text: an answer inside
//!   a question is not an answer. White space at a field's ends is dropped.
//! - The box is the last one outside the fields.
//!
//! The format of a field is judged by counting tags, as in Multi-Agent Evolve and SAGE (§4.1): exact if there are as
//! many as requested, redundant if there are more and every tag has its partner, else broken.

#[cfg(test)]
mod tests;

use super::reading::Part;
use super::{Answer, Field, ProposalText, Reading, Take};
use crate::answer::{last_block, last_boxed};
use crate::verify::ProblemKind;
use crate::work::FinishReason;

/// A tag in a text.
struct Tag {
    /// The index of its field.
    field: usize,
    is_open: bool,
    start: usize,
    end: usize,
}

/// The occurrences of one field in a text.
#[derive(Clone, Default)]
struct Met<'t> {
    texts: Vec<&'t str>,
    /// Complete occurrences nested in another of the same field.
    nested: usize,
    unclosed: usize,
    unopened: usize,
}

/// Reads a completion of a prompt that ends with `opening`; if that ends with a tag, the completion starts inside the
/// field.
pub(super) fn read(fields: &[Field], text: &str, finish: FinishReason, opening: &str) -> Reading {
    let tags = tags(fields, text, opening);
    let partners = partners(fields.len(), &tags);
    let mut met = vec![Met::default(); fields.len()];
    let mut outside = Vec::new();
    let (mut at, mut free) = (0, 0);
    while let Some(tag) = tags.get(at) {
        let of_field = &mut met[tag.field];
        match partners[at] {
            Some(close) if tag.is_open => {
                outside.push(&text[free..tag.start]);
                of_field.texts.push(&text[tag.end..tags[close].start]);
                let inside = &tags[at + 1..close];
                let nested = inside.iter().filter(|inner| inner.is_open && inner.field == tag.field);
                of_field.nested += nested.count();
                free = tags[close].end;
                at = close + 1;
            }
            _ => {
                if tag.is_open {
                    of_field.unclosed += 1
                } else {
                    of_field.unopened += 1
                }
                at += 1;
            }
        }
    }
    outside.push(&text[free..]);
    let last_box = || outside.iter().rev().find_map(|text| last_boxed(text));
    let parts = fields.iter().zip(met).map(|(field, met)| match field.take {
        Take::Boxed => Part::boxed(field, last_box()),
        Take::First | Take::Last | Take::LastOf(_) => part(field, met, finish),
    });
    Reading::of(text, parts)
}

/// All tags of the fields, in order.
fn tags(fields: &[Field], text: &str, opening: &str) -> Vec<Tag> {
    let has_tags = |(_, field): &(usize, &Field)| field.take != Take::Boxed;
    let named = fields.iter().enumerate().filter(has_tags);
    let spelled = named.flat_map(|(field, Field { name, .. })| {
        [(field, true, format!("<{name}>")), (field, false, format!("</{name}>"))]
    });
    let spelled: Vec<(usize, bool, String)> = spelled.collect();
    let opening = opening.trim_end();
    let opened = spelled.iter().filter(|(_, is_open, tag)| *is_open && opening.ends_with(tag));
    let mut tags: Vec<Tag> = opened.map(|(field, ..)| Tag { field: *field, is_open: true, start: 0, end: 0 }).collect();
    for (start, _) in text.match_indices('<') {
        let found = spelled.iter().find(|(_, _, tag)| text[start..].starts_with(tag));
        tags.extend(found.map(|(field, is_open, tag)| Tag {
            field: *field,
            is_open: *is_open,
            start,
            end: start + tag.len(),
        }));
    }
    tags
}

/// For each opening tag, the index of its closing tag, if it has one.
fn partners(fields: usize, tags: &[Tag]) -> Vec<Option<usize>> {
    let mut partners = vec![None; tags.len()];
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); fields];
    for (at, tag) in tags.iter().enumerate() {
        match tag.is_open {
            true => open[tag.field].push(at),
            false => {
                if let Some(opened) = open[tag.field].pop() {
                    partners[opened] = Some(at);
                }
            }
        }
    }
    partners
}

fn part(field: &Field, met: Met<'_>, finish: FinishReason) -> Part {
    let name = field.name;
    let part = Part::counted(field, met.texts, met.nested, &format!("<{name}>"));
    if met.unclosed > 0 {
        let cut = match finish {
            FinishReason::Stop => "",
            FinishReason::Length => ": the completion was cut at the token limit",
        };
        part.broken(format!("a <{name}> is not closed{cut}"))
    } else if met.unopened > 0 {
        part.broken(format!("a </{name}> closes nothing"))
    } else {
        part
    }
}

// Proposals and answers about Python programs, with the tags `<program>`, `<input>`, `<message>` and `<answer>`.

const MESSAGE: Field = Field::last("message");
const PROGRAM: Field = Field::last("program");
const ANSWER: Field = Field::last("answer");

pub(super) fn proposal(
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
pub(super) fn program(text: &str, finish: FinishReason, opening: &str) -> Result<String, String> {
    let reading = read(&[PROGRAM], text, finish, opening);
    Ok(unfenced(reading.text("program")?, "python"))
}

pub(super) fn answer(problem: ProblemKind, text: &str, finish: FinishReason, opening: &str) -> Answer {
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
