//! The parts of a problem.

use std::borrow::Cow;

use super::{Values, statement::numbered};
use crate::verify::ProblemKind;

/// A part of a stored problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its name, such as `input` or `output 2`.
    pub name: Cow<'static, str>,
    /// Its text; `None` if it is in the dataset's row only.
    pub text: Option<&'a str>,
    /// Whether a solver sees it.
    pub shown: bool,
}

/// The parts of a problem: those a solver sees, in the order of the prompt, then the hidden ones.
pub fn parts<'a>(kind: ProblemKind, program: Option<&'a str>, values: &'a Values) -> Vec<Part<'a>> {
    let all = all(program, values);
    let statement = values.statement(kind, program.unwrap_or_default()).texts();
    let is_shown = |name: &str| statement.iter().any(|(shown, _)| shown == name);
    let exists = |name: &str| all.iter().any(|(known, _)| known == name);
    let shown = statement.iter().filter(|(name, _)| exists(name));
    let shown = shown.map(|(name, text)| (name.clone(), Some(*text), true));
    let hidden = all.iter().filter(|(name, _)| !is_shown(name));
    let hidden = hidden.map(|(name, text)| (name.clone(), *text, false));
    let part = |(name, text, shown)| Part { name, text, shown };
    shown.chain(hidden).map(part).collect()
}

/// Everything the problem has.
fn all<'a>(program: Option<&'a str>, values: &'a Values) -> Vec<(Cow<'static, str>, Option<&'a str>)> {
    fn given<'a>(name: &'static str, text: Option<&'a str>) -> Option<(Cow<'static, str>, Option<&'a str>)> {
        text.map(|text| (Cow::Borrowed(name), Some(text)))
    }
    let mut all: Vec<_> = given("program", program).into_iter().collect();
    match values {
        Values::Io { input, output } => {
            all.extend(given("input", input.as_deref()));
            all.extend(given("output", output.as_deref()));
        }
        Values::Function {
            inputs,
            outputs,
            message,
            ..
        } => {
            all.extend(given("message", Some(message)));
            for (at, input) in inputs.iter().enumerate() {
                all.push((numbered("input", at), Some(input)));
                all.extend(
                    outputs
                        .get(at)
                        .map(|output| (numbered("output", at), Some(output.as_str()))),
                );
            }
        }
        Values::Math { question, answer } => {
            all.extend(given("question", Some(question)));
            all.extend(given("answer", Some(answer)));
        }
        Values::Code {
            question,
            canonical,
            entry_point,
            starter_code,
            tests,
        } => {
            all.extend(given("question", Some(question)));
            all.extend(given("entry point", entry_point.as_deref()));
            all.extend(given("starter code", starter_code.as_deref()));
            all.extend(given("solution", canonical.as_deref()));
            all.push((Cow::Borrowed("tests"), tests.as_deref()));
        }
    }
    all
}
