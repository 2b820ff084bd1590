//! Stored problems of every kind, and what a solver sees of them.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
    let shown = statement.iter().filter(|(name, _)| exists(name)).map(|(name, text)| (name.clone(), Some(*text), true));
    let hidden = all.iter().filter(|(name, _)| !is_shown(name)).map(|(name, text)| (name.clone(), *text, false));
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
        Values::Function { inputs, outputs, message, .. } => {
            all.extend(given("message", Some(message)));
            for (at, input) in inputs.iter().enumerate() {
                all.push((numbered("input", at), Some(input)));
                all.extend(outputs.get(at).map(|output| (numbered("output", at), Some(output.as_str()))));
            }
        }
        Values::Math { question, answer } => {
            all.extend(given("question", Some(question)));
            all.extend(given("answer", Some(answer)));
        }
        Values::Code { question, canonical, entry_point, starter_code, tests } => {
            all.extend(given("question", Some(question)));
            all.extend(given("entry point", entry_point.as_deref()));
            all.extend(given("starter code", starter_code.as_deref()));
            all.extend(given("solution", canonical.as_deref()));
            all.push((Cow::Borrowed("tests"), tests.as_deref()));
        }
    }
    all
}

/// What a solver sees of a problem. Prompts are rendered from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement<'a> {
    /// Deduction (`code_o`): which output has the program on the input?
    Output {
        program: &'a str,
        /// Its arguments.
        input: &'a str,
    },
    /// Abduction (`code_i`): which input makes the program return the output?
    Input {
        program: &'a str,
        /// Its value.
        output: &'a str,
    },
    /// Induction (`code_f`): which program fits?
    Function {
        /// The description of the program.
        message: &'a str,
        /// Inputs with their outputs.
        pairs: Vec<(&'a str, &'a str)>,
    },
    /// A mathematics question.
    Math { question: &'a str },
    /// A program to write.
    Code {
        question: &'a str,
        /// The function to write; `None` for a program that reads standard input.
        entry_point: Option<&'a str>,
        /// The code a solution starts with.
        starter_code: Option<&'a str>,
    },
}

impl<'a> Statement<'a> {
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::Output { .. } => ProblemKind::CodeO,
            Self::Input { .. } => ProblemKind::CodeI,
            Self::Function { .. } => ProblemKind::CodeF,
            Self::Math { .. } => ProblemKind::Math,
            Self::Code { .. } => ProblemKind::Code,
        }
    }

    /// Its texts with their names, in the order of the prompt.
    pub fn texts(&self) -> Vec<(Cow<'static, str>, &'a str)> {
        let named = |name: &'static str, text: &'a str| (Cow::Borrowed(name), text);
        match self {
            Self::Output { program, input } => vec![named("program", program), named("input", input)],
            Self::Input { program, output } => vec![named("program", program), named("output", output)],
            Self::Function { message, pairs } => {
                let numbered = pairs.iter().enumerate().flat_map(|(at, (input, output))| {
                    [(numbered("input", at), *input), (numbered("output", at), *output)]
                });
                std::iter::once(named("message", message)).chain(numbered).collect()
            }
            Self::Math { question } => vec![named("question", question)],
            Self::Code { question, entry_point, starter_code } => {
                let texts =
                    [("entry point", *entry_point), ("question", Some(*question)), ("starter code", *starter_code)];
                texts.into_iter().filter_map(|(name, text)| Some(named(name, text?))).collect()
            }
        }
    }

    /// The bytes of its texts.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Output { program, input: value } | Self::Input { program, output: value } => {
                program.len() + value.len()
            }
            Self::Function { message, pairs } => {
                message.len() + pairs.iter().map(|(input, output)| input.len() + output.len()).sum::<usize>()
            }
            Self::Math { .. } | Self::Code { .. } => self.texts().iter().map(|(_, text)| text.len()).sum(),
        }
    }
}

/// The name of the value at `at`, counted from 1.
fn numbered(name: &str, at: usize) -> Cow<'static, str> {
    Cow::Owned(format!("{name} {}", at + 1))
}

/// The data of a problem besides its program, as stored in its row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// `code_f`. A rejected proposal has no outputs.
    Function {
        /// Arguments, each as source text.
        inputs: Vec<String>,
        /// The value for each input.
        #[serde(default)]
        outputs: Vec<String>,
        /// The description of the function.
        #[serde(default)]
        message: String,
        /// The number of pairs that a solver sees, the first ones; the others decide whether its program is right.
        #[serde(default)]
        shown: usize,
    },
    Math {
        question: String,
        /// The correct answer.
        answer: String,
    },
    /// `code`. The tests of a dataset's row are there only: they can be megabytes.
    Code {
        question: String,
        /// A correct program, if the dataset has one.
        canonical: Option<String>,
        /// The function to write; `None` for a program that reads standard input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry_point: Option<String>,
        /// The code a solution starts with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        starter_code: Option<String>,
        /// The tests, of a problem that a member posed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<String>,
    },
    /// `code_i` and `code_o`. A rejected proposal has no output, and a dataset's row may lack the hidden value.
    Io {
        /// The arguments.
        #[serde(default)]
        input: Option<String>,
        /// The program's value.
        #[serde(default)]
        output: Option<String>,
    },
}

impl Values {
    /// The values of a function; a solver sees the first half (Absolute Zero).
    pub fn function(inputs: Vec<String>, outputs: Vec<String>, message: String) -> Self {
        let shown = inputs.len() / 2;
        Self::Function { inputs, outputs, message, shown }
    }

    /// What a solver sees of a problem of `kind` about `program`. Missing text is empty.
    pub fn statement<'a>(&'a self, kind: ProblemKind, program: &'a str) -> Statement<'a> {
        match self {
            Self::Io { input, .. } if kind == ProblemKind::CodeO => {
                Statement::Output { program, input: input.as_deref().unwrap_or_default() }
            }
            Self::Io { output, .. } => Statement::Input { program, output: output.as_deref().unwrap_or_default() },
            Self::Function { message, shown, .. } => {
                Statement::Function { message, pairs: self.pairs().take(*shown).collect() }
            }
            Self::Math { question, .. } => Statement::Math { question },
            Self::Code { question, entry_point, starter_code, .. } => {
                Statement::Code { question, entry_point: entry_point.as_deref(), starter_code: starter_code.as_deref() }
            }
        }
    }

    /// The inputs of a function with their outputs; none for other kinds.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let (inputs, outputs): (&[String], &[String]) = match self {
            Self::Function { inputs, outputs, .. } => (inputs, outputs),
            _ => (&[], &[]),
        };
        let text = String::as_str;
        inputs.iter().map(text).zip(outputs.iter().map(text))
    }

    /// The pairs of a function that a solver does not see; none for other kinds.
    pub fn hidden_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let shown = match self {
            Self::Function { shown, .. } => *shown,
            _ => 0,
        };
        self.pairs().skip(shown)
    }
}
