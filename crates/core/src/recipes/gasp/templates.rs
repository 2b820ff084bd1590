//! The prompts of the recipe.

use super::{Axis, Parameters};
use crate::fault::Fault;
use crate::kit::code::{Problem, STRETCHED};
use crate::problem::Statement;
use crate::prompt::{CODE_TEMPLATES, PromptError, PromptSet, Size, Template, Variable, reads_code};
use crate::work::FinishReason;

const PAIR: [(&str, &str); 2] = [("input", "1"), ("output", "1")];

const OF_GOALPOST: &[Variable] =
    &[Variable::text("question", "question"), Variable::any_records("pairs", &PAIR), NUM_INPUTS];

const OF_LEMMA: &[Variable] = &[
    Variable::text("program", "def f(a):\n return a"),
    Variable::text("message", "message"),
    Variable::records("pairs", &PAIR),
    NUM_INPUTS,
];

const NUM_INPUTS: Variable = Variable::number("num_inputs", 5);

const POSING: [Template; 4] = [
    Template {
        name: "lemma_io",
        doc: "Asks for an easier variant of a goalpost, with simpler inputs and outputs.",
        variables: OF_GOALPOST,
    },
    Template {
        name: "lemma_f",
        doc: "Asks for an easier variant of a goalpost, with a simpler program.",
        variables: OF_GOALPOST,
    },
    Template {
        name: "lift_io",
        doc: "Asks for a harder variant of a lemma, with more complex inputs and outputs.",
        variables: OF_LEMMA,
    },
    Template {
        name: "lift_f",
        doc: "Asks for a harder variant of a lemma, with a more complex program.",
        variables: OF_LEMMA,
    },
];

/// Every template that a run may need.
pub(super) fn templates() -> Vec<Template> {
    let solving = CODE_TEMPLATES.into_iter().filter(|template| template.name.starts_with("solve"));
    POSING.into_iter().chain(solving).collect()
}

/// Reads an answer to a template of [`templates`].
pub(super) fn reads(prompts: &PromptSet, template: &str, answer: &str) -> Result<(), String> {
    match template.starts_with("solve") {
        true => reads_code(prompts, template, answer),
        // As many inputs as the template's sample asks for.
        false => {
            let (grammar, opening) = (prompts.grammar, prompts.opening());
            grammar.posed_function(answer, FinishReason::Stop, opening, 5).map(drop)
        }
    }
}

/// Whether a run that changes difficulty along `axes`, with or without lifts, needs a template.
pub(super) fn is_needed(template: &Template, axes: &[Axis], lifts: bool) -> bool {
    match template.name.split_once('_') {
        Some(("solve", _)) => true,
        Some((stone, axis)) => (lifts || stone == "lemma") && axes.iter().any(|known| known.name() == axis),
        None => false,
    }
}

// Bounds on prompt sizes, computed from a problem's texts, so that no prompt is ever too long for the model.

/// The sizes of the prompts that show a lemma or a lift.
pub(super) struct Sizes(Vec<(Template, Size)>);

impl Sizes {
    /// Measures the templates that a run needs.
    pub(super) fn measure(prompts: &PromptSet, parameters: &Parameters) -> Result<Self, PromptError> {
        let showing = needed(parameters).filter(|template| !template.name.starts_with("lemma"));
        let numbers = numbers(parameters);
        let sizes = showing.map(|template| Ok((template, prompts.measure(&template, &numbers)?)));
        Ok(Self(sizes.collect::<Result<_, PromptError>>()?))
    }

    /// The most bytes that a prompt takes to show a problem, in any form.
    pub(super) fn needed(&self, problem: &Problem) -> usize {
        let of_template = |(template, size): &(Template, Size)| {
            let amounts = template.variables.iter().flat_map(|variable| amounts(variable.name, problem));
            let amounts: Vec<(&str, usize)> = amounts.collect();
            size.bound(&amounts)
        };
        self.0.iter().map(of_template).max().unwrap_or(0)
    }
}

/// Faults of templates that leave no room, or that lengthen what they show.
pub(super) fn faults(prompts: &PromptSet, parameters: &Parameters) -> Vec<Fault> {
    let numbers = numbers(parameters);
    let limit = parameters.max_prompt_bytes as usize;
    let mut faults = Vec::new();
    for template in needed(parameters) {
        let at = format!("/parameters/prompts/templates/{}", template.name);
        let measured = prompts
            .measure(&template, &numbers)
            .and_then(|size| Ok((size.base(), prompts.stretched(&template, &numbers)?)));
        match measured {
            Err(error) => faults.push(Fault::new(at, error.to_string())),
            Ok((_, Some(_))) => faults.push(Fault::new(at, STRETCHED)),
            Ok((base, None)) if base >= limit => faults.push(Fault::new(
                "/parameters/max_prompt_bytes",
                format!("{limit} is too small: the template {} alone takes {base} bytes", template.name),
            )),
            Ok(_) => {}
        }
    }
    faults
}

fn needed(parameters: &Parameters) -> impl Iterator<Item = Template> {
    let (axes, lifts) = (parameters.axes.as_slice(), parameters.lifts);
    let all = templates().into_iter();
    all.filter(move |template| is_needed(template, axes, lifts))
}

fn numbers(parameters: &Parameters) -> [(&'static str, u64); 1] {
    [("num_inputs", u64::from(parameters.pairs))]
}

/// The bytes of a problem's texts that a variable shows; of single inputs and outputs the longest one that is shown.
fn amounts(variable: &str, problem: &Problem) -> Vec<(&'static str, usize)> {
    let statement = problem.statement();
    let Statement::Function { message, pairs } = &statement else { return Vec::new() };
    let inputs = || pairs.iter().map(|(input, _)| input.len());
    let outputs = || pairs.iter().map(|(_, output)| output.len());
    match variable {
        "program" => vec![("program", problem.program.len())],
        "message" => vec![("message", message.len())],
        "input" => vec![("input", inputs().max().unwrap_or(0))],
        "output" => vec![("output", outputs().max().unwrap_or(0))],
        "pairs" => vec![("pairs", pairs.len()), ("pairs.input", inputs().sum()), ("pairs.output", outputs().sum())],
        _ => Vec::new(),
    }
}
