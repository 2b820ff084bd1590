//! What is asked of each role, and the form of its answer.

use super::step::Step;
use crate::{
    prompt::{Field, Reading, Template, Variable},
    recipe::mathematics::SOLVE,
    work::Completion,
};

const QUESTION: Variable = Variable::text("question", "What is 1 + 1?");
const STATED: Variable = Variable::text("answer", "2");
const PLAN: Variable = Variable::text("plan", "1. Add the numbers.");

/// Asks the challenger for a task.
pub(super) const CHALLENGE: Template = Template {
    name: "challenge",
    doc: "Asks the challenger for a task like one that is shown.",
    variables: &[QUESTION, STATED],
};

/// Asks the planner for a plan.
pub(super) const DEVISE: Template = Template {
    name: "plan",
    doc: "Asks the planner for a plan.",
    variables: &[QUESTION],
};

/// Puts a question to the solver, with a plan.
pub(super) const SOLVE_WITH_PLAN: Template = Template {
    name: "solve_with_plan",
    doc: "Puts a question to the solver, with a plan.",
    variables: &[QUESTION, PLAN],
};

/// Asks the critic for the score of a question and its stated answer.
pub(super) const CRITIQUE_QUESTION: Template = Template {
    name: "critique_question",
    doc: "Asks the critic for the score of a question.",
    variables: &[QUESTION, STATED],
};

/// Asks the critic for the score of a plan.
pub(super) const CRITIQUE_PLAN: Template = Template {
    name: "critique_plan",
    doc: "Asks the critic for the score of a plan.",
    variables: &[QUESTION, PLAN],
};

/// The prompts of the recipe.
pub(super) const TEMPLATES: [Template; 6] = [
    CHALLENGE,
    DEVISE,
    SOLVE,
    SOLVE_WITH_PLAN,
    CRITIQUE_QUESTION,
    CRITIQUE_PLAN,
];

/// Whether a run needs a template.
pub(super) fn is_needed(template: &Template, has_planning: bool) -> bool {
    has_planning || ![DEVISE, SOLVE_WITH_PLAN, CRITIQUE_PLAN].contains(template)
}

/// The fields of a challenge: the question, the kind of its verifier, and what that needs.
pub(super) const CHALLENGE_FIELDS: [Field; 3] = [Field::last("question"), Field::last("type"), Field::last("answer")];
/// The field of a plan.
pub(super) const PLAN_FIELDS: [Field; 1] = [Field::last("plan")];
/// The field of a score.
pub(super) const SCORE_FIELDS: [Field; 1] = [Field::first("score")];

impl Step<'_> {
    /// The fields of a completion. [`Reading::score`] is the soft format reward (section 4.1).
    pub(super) fn read(&self, fields: &[Field], completion: &Completion) -> Reading {
        let (text, finish) = (&completion.text, completion.finish_reason);
        self.prompts.grammar.read(fields, text, finish, self.prompts.opening())
    }
}
