//! A valid problem, as presented to solvers.

use serde::{Deserialize, Serialize};

use crate::{
    id::ProblemId,
    prompt::{Pair, PromptError, PromptSet, Reference, Rendered},
    recipe::ProblemRecord,
    verify::{ProblemKind, Solution, Task},
};

/// A valid problem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) id: ProblemId,
    pub(crate) kind: ProblemKind,
    pub(crate) program: String,
    pub(crate) values: Values,
}

/// The problem's data besides its program: the `values` of its row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Values {
    /// Of types `code_i` and `code_o`. The solver sees one of the two.
    Io { input: String, output: String },
    /// Of type `code_f`. The solver sees the message and the first `shown` pairs.
    Function {
        inputs: Vec<String>,
        outputs: Vec<String>,
        message: String,
        shown: usize,
    },
}

impl Values {
    /// The values of a function; the solver sees the first half (Absolute Zero).
    pub(crate) fn function(inputs: Vec<String>, outputs: Vec<String>, message: String) -> Self {
        let shown = inputs.len() / 2;
        Self::Function {
            inputs,
            outputs,
            message,
            shown,
        }
    }
}

impl Problem {
    /// The problem in a row, if it is valid and of one of the three types.
    pub(crate) fn of(record: &ProblemRecord) -> Option<Self> {
        Some(Self {
            id: record.id,
            kind: record.kind,
            program: record
                .program
                .clone()
                .filter(|_| record.valid && record.kind.is_triple())?,
            values: Values::deserialize(&record.values).ok()?,
        })
    }

    /// The problem as an example for a proposer; a function shows its first pair.
    pub(crate) fn reference(&self) -> Option<Reference> {
        let (input, output) = match &self.values {
            Values::Io { input, output } => (input, output),
            Values::Function { inputs, outputs, .. } => (inputs.first()?, outputs.first()?),
        };
        Some(Reference {
            program: self.program.clone(),
            input: input.clone(),
            output: output.clone(),
        })
    }

    /// The prompt for a solver.
    pub(crate) fn prompt(&self, prompts: &PromptSet) -> Result<Rendered, PromptError> {
        match &self.values {
            Values::Io { input, .. } if self.kind == ProblemKind::CodeO => prompts.solve_output(&self.program, input),
            Values::Io { output, .. } => prompts.solve_input(&self.program, output),
            Values::Function {
                inputs,
                outputs,
                message,
                shown,
            } => {
                let pairs = inputs.iter().zip(outputs).take(*shown).map(|(input, output)| Pair {
                    input: input.clone(),
                    output: output.clone(),
                });
                prompts.solve_function(message, &pairs.collect::<Vec<_>>())
            }
        }
    }

    /// The bytes of its contents in a solver's prompt.
    pub(crate) fn shown_bytes(&self) -> usize {
        match &self.values {
            Values::Io { input, .. } if self.kind == ProblemKind::CodeO => self.program.len() + input.len(),
            Values::Io { output, .. } => self.program.len() + output.len(),
            Values::Function {
                inputs,
                outputs,
                message,
                shown,
            } => {
                let pairs = inputs.iter().zip(outputs).take(*shown);
                message.len() + pairs.map(|(input, output)| input.len() + output.len()).sum::<usize>()
            }
        }
    }

    /// The verifier task that checks whether `answer` solves it.
    pub(crate) fn task(&self, id: String, answer: String) -> Task {
        let program = self.program.clone();
        let solution = match &self.values {
            Values::Io { input, .. } if self.kind == ProblemKind::CodeO => Solution::Output {
                program,
                input: input.clone(),
                answer,
            },
            Values::Io { output, .. } => Solution::Input {
                program,
                output: output.clone(),
                answer,
            },
            Values::Function {
                inputs, outputs, shown, ..
            } => Solution::Function {
                pairs: inputs
                    .iter()
                    .cloned()
                    .zip(outputs.iter().cloned())
                    .skip(*shown)
                    .collect(),
                answer,
            },
        };
        Task {
            id,
            check: solution.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Check;
    use uuid::Uuid;

    fn problem(kind: ProblemKind, values: Values) -> Problem {
        Problem {
            id: ProblemId(Uuid::from_u128(1)),
            kind,
            program: "def f(a):\n return a+1".to_owned(),
            values,
        }
    }

    fn function() -> Problem {
        let texts = |values: [u32; 5]| values.iter().map(u32::to_string).collect();
        let values = Values::function(texts([0, 1, 2, 3, 4]), texts([1, 2, 3, 4, 5]), "next".to_owned());
        problem(ProblemKind::CodeF, values)
    }

    #[test]
    fn a_solver_never_sees_what_it_must_find() {
        let prompts = PromptSet::shipped("seedling").unwrap();
        let io = Values::Io {
            input: "41".to_owned(),
            output: "42".to_owned(),
        };
        let shown = |problem: &Problem| problem.prompt(&prompts).unwrap().text;
        assert_eq!(
            shown(&problem(ProblemKind::CodeO, io.clone())),
            "<so>def f(a):\n return a+1<in>41<out>"
        );
        assert_eq!(
            shown(&problem(ProblemKind::CodeI, io)),
            "<si>def f(a):\n return a+1<out>42<in>"
        );
        assert_eq!(shown(&function()), "<sf><msg>next<in>0<out>1<in>1<out>2<prog>");
    }

    #[test]
    fn the_hidden_pairs_of_a_function_decide() {
        let task = function().task("7".to_owned(), "def f(a):\n return 1".to_owned());
        let Check::Solve(Solution::Function { pairs, .. }) = task.check else {
            panic!("not a function's task");
        };
        let pair = |input: &str, output: &str| (input.to_owned(), output.to_owned());
        assert_eq!(pairs, [pair("2", "3"), pair("3", "4"), pair("4", "5")]);
    }

    #[test]
    fn the_bytes_it_needs_are_an_upper_bound_of_what_it_adds() {
        let prompts = PromptSet::shipped("seedling").unwrap();
        for problem in [
            function(),
            problem(
                ProblemKind::CodeO,
                Values::Io {
                    input: "[1, 2]".to_owned(),
                    output: "3".to_owned(),
                },
            ),
        ] {
            let markers = "<sf><msg><in><out><in><out><prog>".len();
            assert!(problem.prompt(&prompts).unwrap().text.len() <= problem.shown_bytes() + markers);
        }
    }
}
