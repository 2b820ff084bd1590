//! A problem with a known answer, as posed and judged.

use lyceum_core::{
    problem::Statement,
    prompt::{PromptError, PromptSet, Rendered},
};
use lyceum_verifier::{Check, ProblemKind, Solution};

/// A problem with a known answer.
pub(super) struct Problem {
    pub(super) program: String,
    /// The first is the one asked about, except for code_f, which uses them all.
    pub(super) pairs: Vec<(String, String)>,
    pub(super) message: String,
    /// How many pairs a solver of code_f sees; half of them if `None`.
    pub(super) shown: Option<usize>,
}

impl Problem {
    pub(super) fn prompt(&self, problem: ProblemKind, prompts: &PromptSet) -> Result<Rendered, PromptError> {
        let (input, output) = self
            .pairs
            .first()
            .map_or(("", ""), |(input, output)| (input.as_str(), output.as_str()));
        let program = self.program.as_str();
        prompts.solve(&match problem {
            ProblemKind::CodeO => Statement::Output { program, input },
            ProblemKind::CodeI => Statement::Input { program, output },
            _ => {
                let pairs = self.shown(problem).iter();
                Statement::Function {
                    message: &self.message,
                    pairs: pairs.map(|(input, output)| (input.as_str(), output.as_str())).collect(),
                }
            }
        })
    }

    /// The pairs that a solver may see, in whole or in part.
    pub(super) fn shown(&self, problem: ProblemKind) -> &[(String, String)] {
        match problem {
            ProblemKind::CodeI | ProblemKind::CodeO => &self.pairs,
            _ => &self.pairs[..self.shown.unwrap_or(self.pairs.len().div_ceil(2)).min(self.pairs.len())],
        }
    }

    pub(super) fn check(&self, problem: ProblemKind, answer: String) -> Check {
        let (input, output) = self.pairs.first().cloned().unwrap_or_default();
        Check::Solve(match problem {
            ProblemKind::CodeO => Solution::Output {
                program: self.program.clone(),
                input,
                answer,
            },
            ProblemKind::CodeI => Solution::Input {
                program: self.program.clone(),
                output,
                answer,
            },
            _ => Solution::Function {
                pairs: self.pairs.clone(),
                answer,
            },
        })
    }
}
