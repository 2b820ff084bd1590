//! The values of a stored problem.

use serde::{Deserialize, Serialize};

use super::Statement;
use crate::verify::ProblemKind;

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
        Self::Function {
            inputs,
            outputs,
            message,
            shown,
        }
    }

    /// What a solver sees of a problem of `kind` about `program`. Missing text is empty.
    pub fn statement<'a>(&'a self, kind: ProblemKind, program: &'a str) -> Statement<'a> {
        match self {
            Self::Io { input, .. } if kind == ProblemKind::CodeO => Statement::Output {
                program,
                input: input.as_deref().unwrap_or_default(),
            },
            Self::Io { output, .. } => Statement::Input {
                program,
                output: output.as_deref().unwrap_or_default(),
            },
            Self::Function { message, shown, .. } => Statement::Function {
                message,
                pairs: self.pairs().take(*shown).collect(),
            },
            Self::Math { question, .. } => Statement::Math { question },
            Self::Code {
                question,
                entry_point,
                starter_code,
                ..
            } => Statement::Code {
                question,
                entry_point: entry_point.as_deref(),
                starter_code: starter_code.as_deref(),
            },
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
