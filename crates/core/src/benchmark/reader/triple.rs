//! A program, and something to find about it: its output, an input, or the program itself.

use std::collections::BTreeMap;

use super::line::Line;
use crate::benchmark::format::Format;
use crate::benchmark::{BenchmarkRow, Question};
use crate::verify::{CodePair, ProblemKind};

/// What is asked about a program.
struct Triple {
    question: String,
    canonical: Option<String>,
    oracle: Question,
}

impl Triple {
    /// Asks for the output.
    pub(super) fn output(program: String, input: String, output: Option<String>) -> Self {
        Self {
            question: format!("{program}\n# f({input}) = ?"),
            canonical: output,
            oracle: Question::CodeO { program, input },
        }
    }

    /// Asks for an input.
    pub(super) fn input(program: String, input: Option<String>, output: String) -> Self {
        Self {
            question: format!("{program}\n# f(?) = {output}"),
            canonical: input,
            oracle: Question::CodeI { program, output },
        }
    }

    /// Asks for the program.
    fn function(message: String, pairs: Vec<CodePair>, program: Option<String>) -> Self {
        let shown = pairs.iter().map(|(input, output)| format!("f({input}) = {output}"));
        Self {
            question: format!("{message}\n{}", shown.collect::<Vec<_>>().join("\n")),
            canonical: program,
            oracle: Question::CodeF { message, pairs },
        }
    }

    /// The row, with its type among the tags.
    pub(super) fn row(self, task_id: String, mut tags: BTreeMap<String, String>) -> BenchmarkRow {
        tags.insert("type".to_owned(), self.oracle.name().to_owned());
        BenchmarkRow { task_id, question: self.question, canonical: self.canonical, oracle: self.oracle, tags }
    }
}

pub(super) fn triple(line: &Line, task_id: String, format: &Format) -> Result<BenchmarkRow, String> {
    let optional = |column: &Option<String>| match column {
        Some(column) if line.has(column) => line.plain(column).map(Some),
        _ => Ok(None),
    };
    let (triple, tags) = match format {
        Format::CodeO { program, input, output, tags, .. } => {
            let program = line.filled(program)?;
            (Triple::output(program, line.plain(input)?, optional(output)?), tags)
        }
        Format::CodeI { program, input, output, tags, .. } => {
            let program = line.filled(program)?;
            (Triple::input(program, optional(input)?, line.plain(output)?), tags)
        }
        Format::CodeF { message, pairs, inputs, outputs, program, tags, .. } => {
            // Absolute Zero's proposers may leave it empty; the pairs are still there.
            let message = line.text(message)?;
            let pairs = match (pairs, inputs, outputs) {
                (Some(pairs), ..) => line.get(pairs)?,
                (None, Some(inputs), Some(outputs)) => zipped(line, inputs, outputs)?,
                _ => return Err("the format names neither `pairs` nor `inputs` and `outputs`".to_owned()),
            };
            if pairs.is_empty() {
                return Err("there is no pair of an input and an output".to_owned());
            }
            (Triple::function(message, pairs, optional(program)?), tags)
        }
        _ => return Err("this is not a format of programs with inputs and outputs".to_owned()),
    };
    Ok(triple.row(task_id, line.tags(tags)?))
}

fn zipped(line: &Line, inputs: &str, outputs: &str) -> Result<Vec<CodePair>, String> {
    let all: Vec<String> = line.get(inputs)?;
    let results: Vec<String> = line.get(outputs)?;
    match all.len() == results.len() {
        true => Ok(all.into_iter().zip(results).collect()),
        false => {
            Err(format!("field `{inputs}` has {} inputs and field `{outputs}` {} outputs", all.len(), results.len()))
        }
    }
}

// Self-play problems with known answers, as written by `lyceum-workshop held-out`.

pub(super) fn selfplay(line: &Line) -> Result<BenchmarkRow, String> {
    problem(line, line.filled("task_id")?)
}

pub(super) fn problem(line: &Line, task_id: String) -> Result<BenchmarkRow, String> {
    let problem: ProblemKind = line.get("type")?;
    let program = line.filled("program")?;
    let triple = match problem {
        ProblemKind::CodeO => {
            let input = line.text("input")?;
            Triple::output(program, input, Some(line.filled("output")?))
        }
        ProblemKind::CodeI => {
            let output = line.filled("output")?;
            Triple::input(program, Some(line.text("input")?), output)
        }
        ProblemKind::CodeF => {
            let message = line.filled("message")?;
            let pairs: Vec<CodePair> = line.get("pairs")?;
            if pairs.is_empty() {
                return Err("field `pairs` has no input/output pair".to_owned());
            }
            Triple::function(message, pairs, Some(program))
        }
        ProblemKind::Math | ProblemKind::Code => {
            let valid = ProblemKind::TRIPLES.map(ProblemKind::name).join(", ");
            return Err(format!("field `type` is `{}`: {valid} are valid here", problem.name()));
        }
    };
    let mut tags = std::collections::BTreeMap::new();
    if line.has("level") {
        tags.insert("level".to_owned(), line.plain("level")?);
    }
    Ok(triple.row(task_id, tags))
}
