//! Templates for proposing and solving the three types of Python problem, used by `azr` and `populora`.

use minijinja::{Value, context};

use super::{PromptConfig, PromptError, PromptSet, ProposalText, Rendered, Template, Variable};
use crate::fault::Fault;
use crate::problem::Statement;
use crate::verify::ProblemKind;
use crate::work::FinishReason;

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
    pub program: String,
    /// Its arguments.
    pub input: String,
    pub output: String,
}

impl PromptConfig {
    /// Fills in the set's choices and checks the templates of `problems`.
    ///
    /// # Errors
    /// Every fault, at a JSON pointer below `pointer`.
    pub fn resolve(self, pointer: &str, problems: &[ProblemKind]) -> Result<Self, Vec<Fault>> {
        let is_needed = |template: &Template| problems.iter().any(|problem| template.name.ends_with(problem.name()));
        self.resolve_for(pointer, &CODE_TEMPLATES, is_needed, &reads_code)
    }
}

/// Reads an answer to a template of [`CODE_TEMPLATES`].
pub(crate) fn reads_code(set: &PromptSet, template: &str, answer: &str) -> Result<(), String> {
    let Some(kind) = ProblemKind::TRIPLES.into_iter().find(|kind| template.ends_with(kind.name())) else {
        return Ok(());
    };
    let (grammar, opening) = (set.grammar, set.opening());
    match template.starts_with("solve") {
        true => grammar.answer(kind, answer, FinishReason::Stop, opening).map(drop),
        // As many inputs as the template's sample asks for.
        false => grammar.proposal(kind, answer, FinishReason::Stop, opening, 2).map(drop),
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

    /// The programs in the set's own examples of proposals.
    pub(crate) fn example_programs(&self) -> Vec<String> {
        let answered = |kind: ProblemKind| {
            let template = CODE_TEMPLATES.iter().find(|template| template.name == task_name("propose", kind))?;
            let answer = self.example_answer(template)?;
            match self.grammar.proposal(kind, &answer, FinishReason::Stop, self.opening(), 0) {
                Ok(ProposalText::Io { program, .. }) => Some(program),
                _ => None,
            }
        };
        [ProblemKind::CodeI, ProblemKind::CodeO].into_iter().filter_map(answered).collect()
    }

    /// The prompt for a solver: the template `solve_` with the name of the problem's kind.
    ///
    /// # Errors
    /// The template is missing or uses an unknown variable.
    pub fn solve(&self, statement: &Statement<'_>) -> Result<Rendered, PromptError> {
        let variables = match statement {
            Statement::Output { program, input } => context! { program => *program, input => self.spell(input) },
            Statement::Input { program, output } => context! { program => *program, output => self.spell(output) },
            Statement::Function { message, pairs } => {
                let pair = |(input, output): &(&str, &str)| {
                    context! { input => self.spell(input), output => self.spell(output) }
                };
                let pairs: Vec<Value> = pairs.iter().map(pair).collect();
                context! { message => *message, pairs }
            }
            Statement::Math { question } => context! { question => *question },
            Statement::Code { question, entry_point, starter_code } => {
                context! { question => *question, entry_point => *entry_point, starter_code => *starter_code }
            }
        };
        self.render(&task_name("solve", statement.kind()), variables)
    }
}

#[cfg(test)]
mod tests;
