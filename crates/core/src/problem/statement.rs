//! What a solver sees.

use std::borrow::Cow;

use crate::verify::ProblemKind;

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
            Self::Code {
                question,
                entry_point,
                starter_code,
            } => {
                let texts = [
                    ("entry point", *entry_point),
                    ("question", Some(*question)),
                    ("starter code", *starter_code),
                ];
                texts
                    .into_iter()
                    .filter_map(|(name, text)| Some(named(name, text?)))
                    .collect()
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
                message.len()
                    + pairs
                        .iter()
                        .map(|(input, output)| input.len() + output.len())
                        .sum::<usize>()
            }
            Self::Math { .. } | Self::Code { .. } => self.texts().iter().map(|(_, text)| text.len()).sum(),
        }
    }
}

/// The name of the value at `at`, counted from 1.
pub(super) fn numbered(name: &str, at: usize) -> Cow<'static, str> {
    Cow::Owned(format!("{name} {}", at + 1))
}
