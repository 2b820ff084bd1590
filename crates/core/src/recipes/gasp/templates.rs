//! The prompts of the recipe.

use super::Axis;
use crate::prompt::{CODE_TEMPLATES, Template, Variable};

const PAIR: [(&str, &str); 2] = [("input", "1"), ("output", "1")];

const OF_GOALPOST: &[Variable] = &[
    Variable::text("question", "question"),
    Variable::any_records("pairs", &PAIR),
    NUM_INPUTS,
];

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
    let solving = CODE_TEMPLATES
        .into_iter()
        .filter(|template| template.name.starts_with("solve"));
    POSING.into_iter().chain(solving).collect()
}

/// Whether a run that changes difficulty along `axes`, with or without lifts, needs a template.
pub(super) fn is_needed(template: &Template, axes: &[Axis], lifts: bool) -> bool {
    match template.name.split_once('_') {
        Some(("solve", _)) => true,
        Some((stone, axis)) => (lifts || stone == "lemma") && axes.iter().any(|known| known.name() == axis),
        None => false,
    }
}
