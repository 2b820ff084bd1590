//! Templates for proposing and solving the three types of Python problem, used by `azr` and `populora`.

use minijinja::{Value, context};

use super::{PromptConfig, PromptError, PromptSet, Rendered, Template, Variable};
use crate::{fault::Fault, verify::ProblemKind};

const PROGRAM: &str = "def f(a):\n return a";

const IO: [(&str, &str); 2] = [("input", "1"), ("output", "1")];

const REFERENCES: Variable = Variable::any_records("references", &[("program", PROGRAM), IO[0], IO[1]]);

/// The templates of Python problems: one for each action and type.
pub const CODE_TEMPLATES: [Template; 6] = [
    Template {
        name: "propose_code_i",
        doc: "Asks for a program and an input; the solver will see the program and its output.",
        variables: &[REFERENCES],
    },
    Template {
        name: "propose_code_o",
        doc: "Asks for a program and an input; the solver will predict the output.",
        variables: &[REFERENCES],
    },
    Template {
        name: "propose_code_f",
        doc: "Shows a program and asks for inputs and a message that tell a solver what it does.",
        variables: &[Variable::text("program", PROGRAM), Variable::number("num_inputs", 2)],
    },
    Template {
        name: "solve_code_i",
        doc: "Shows a program and an output, and asks for an input that produces it.",
        variables: &[Variable::text("program", PROGRAM), Variable::text("output", "1")],
    },
    Template {
        name: "solve_code_o",
        doc: "Shows a program and an input, and asks for the output.",
        variables: &[Variable::text("program", PROGRAM), Variable::text("input", "1")],
    },
    Template {
        name: "solve_code_f",
        doc: "Shows a message and inputs with their outputs, and asks for the program.",
        variables: &[Variable::text("message", "message"), Variable::records("pairs", &IO)],
    },
];

/// The name of a task's template, such as `solve_code_o`.
pub fn task_name(act: &str, problem: ProblemKind) -> String {
    format!("{act}_{}", problem.name())
}

/// An earlier problem shown to a proposer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its program.
    pub program: String,
    /// Its arguments.
    pub input: String,
    /// Its output.
    pub output: String,
}

/// An input with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Arguments.
    pub input: String,
    /// The value.
    pub output: String,
}

impl PromptConfig {
    /// Fills in the set's choices and checks the templates of `problems`.
    ///
    /// # Errors
    /// Every fault, at a JSON pointer below `pointer`.
    pub fn resolve(self, pointer: &str, problems: &[ProblemKind]) -> Result<Self, Vec<Fault>> {
        self.resolve_for(pointer, &CODE_TEMPLATES, |template| {
            let of_type = |problem: &ProblemKind| template.name.ends_with(problem.name());
            problems.iter().any(of_type)
        })
    }
}

impl PromptSet {
    /// The prompt for a proposal of type `code_i` or `code_o`, showing `references`.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn propose_io(&self, problem: ProblemKind, references: &[Reference]) -> Result<Rendered, PromptError> {
        let shown = references.iter().map(|Reference { program, input, output }| {
            context! { program => program.as_str(), input => self.spell(input), output => self.spell(output) }
        });
        let references: Vec<Value> = shown.collect();
        self.render(&task_name("propose", problem), context! { references })
    }

    /// The prompt for a proposal of type `code_f` about `program`, with `num_inputs` inputs.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn propose_function(&self, program: &str, num_inputs: usize) -> Result<Rendered, PromptError> {
        self.render("propose_code_f", context! { program, num_inputs })
    }

    /// The prompt that asks for an output.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn solve_output(&self, program: &str, input: &str) -> Result<Rendered, PromptError> {
        self.render("solve_code_o", context! { program, input => self.spell(input) })
    }

    /// The prompt that asks for an input.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn solve_input(&self, program: &str, output: &str) -> Result<Rendered, PromptError> {
        self.render("solve_code_i", context! { program, output => self.spell(output) })
    }

    /// The prompt that asks for a program that maps the shown inputs to the shown outputs.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn solve_function(&self, message: &str, pairs: &[Pair]) -> Result<Rendered, PromptError> {
        let shown = pairs
            .iter()
            .map(|Pair { input, output }| context! { input => self.spell(input), output => self.spell(output) });
        let pairs: Vec<Value> = shown.collect();
        self.render("solve_code_f", context! { message, pairs })
    }
}

#[cfg(test)]
mod tests;
