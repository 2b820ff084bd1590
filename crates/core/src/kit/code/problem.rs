//! A valid problem, as presented to solvers.

use serde::Deserialize as _;

use crate::contract::ProblemRecord;
use crate::id::ProblemId;
use crate::problem::{Statement, Values};
use crate::prompt::{PromptError, PromptSet, Reference, Rendered};
use crate::verify::{ProblemKind, Solution, Task};

/// A valid problem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) id: ProblemId,
    pub(crate) kind: ProblemKind,
    pub(crate) program: String,
    pub(crate) values: Values,
}

impl Problem {
    /// The problem in a row, if it is valid and of one of the three types.
    pub(crate) fn of(record: &ProblemRecord) -> Option<Self> {
        Some(Self {
            id: record.id,
            kind: record.kind,
            program: record.program.clone().filter(|_| record.valid && record.kind.is_triple())?,
            values: Values::deserialize(&record.values).ok()?,
        })
    }

    /// The problem as an example for a proposer; a function shows its first pair.
    pub(crate) fn reference(&self) -> Option<Reference> {
        let (input, output) = match &self.values {
            Values::Io { input, output } => (input.as_ref()?, output.as_ref()?),
            Values::Function { inputs, outputs, .. } => (inputs.first()?, outputs.first()?),
            Values::Math { .. } | Values::Code { .. } => return None,
        };
        Some(Reference { program: self.program.clone(), input: input.clone(), output: output.clone() })
    }

    /// What a solver sees.
    pub(crate) fn statement(&self) -> Statement<'_> {
        self.values.statement(self.kind, &self.program)
    }

    /// The prompt for a solver.
    pub(crate) fn prompt(&self, prompts: &PromptSet) -> Result<Rendered, PromptError> {
        prompts.solve(&self.statement())
    }

    /// The verifier task that checks whether `answer` solves it.
    pub(crate) fn task(&self, id: String, answer: String) -> Task {
        let program = self.program.clone();
        let solution = match self.statement() {
            Statement::Output { input, .. } => Solution::Output { program, input: input.to_owned(), answer },
            Statement::Input { output, .. } => Solution::Input { program, output: output.to_owned(), answer },
            _ => {
                let pairs = self.values.hidden_pairs().map(|(input, output)| (input.to_owned(), output.to_owned()));
                Solution::Function { pairs: pairs.collect(), answer }
            }
        };
        Task { id, check: solution.into() }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::verify::Check;

    fn problem(kind: ProblemKind, values: Values) -> Problem {
        Problem { id: ProblemId(Uuid::from_u128(1)), kind, program: "def f(a):\n return a+1".to_owned(), values }
    }

    fn function() -> Problem {
        let texts = |values: [u32; 5]| values.iter().map(u32::to_string).collect();
        let values = Values::function(texts([0, 1, 2, 3, 4]), texts([1, 2, 3, 4, 5]), "next".to_owned());
        problem(ProblemKind::CodeF, values)
    }

    #[test]
    fn a_solver_never_sees_what_it_must_find() {
        let prompts = PromptSet::shipped("seedling").unwrap();
        let io = Values::Io { input: Some("41".to_owned()), output: Some("42".to_owned()) };
        let shown = |problem: &Problem| problem.prompt(&prompts).unwrap().text;
        assert_eq!(shown(&problem(ProblemKind::CodeO, io.clone())), "<so>def f(a):\n return a+1<in>41<out>");
        assert_eq!(shown(&problem(ProblemKind::CodeI, io)), "<si>def f(a):\n return a+1<out>42<in>");
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
            problem(ProblemKind::CodeO, Values::Io { input: Some("[1, 2]".to_owned()), output: Some("3".to_owned()) }),
        ] {
            let markers = "<sf><msg><in><out><in><out><prog>".len();
            assert!(problem.prompt(&prompts).unwrap().text.len() <= problem.statement().bytes() + markers);
        }
    }
}
