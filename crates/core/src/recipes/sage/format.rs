//! What is asked of each role, and the form of its answer.

use super::step::Step;
use crate::{
    kit::mathematics::SOLVE,
    prompt::{Field, Reading, Template, Variable},
    verify::ProblemKind,
    work::Completion,
};

const QUESTION: Variable = Variable::text("question", "What is 1 + 1?");
const STATED: Variable = Variable::text("answer", "2");
const PLAN: Variable = Variable::text("plan", "1. Add the numbers.");
const TESTS: Variable = Variable::text("tests", "assert add(1, 1) == 2");
const ENTRY_POINT: Variable = Variable::text("entry_point", "add");
const MIN_TESTS: Variable = Variable::number("min_tests", 3);

/// The prompts of a domain.
pub(super) struct Templates {
    /// Asks the challenger for a task.
    pub(super) challenge: Template,
    /// Asks the planner for a plan.
    pub(super) plan: Template,
    /// Puts a question to the solver.
    pub(super) solve: Template,
    /// The same with a plan.
    pub(super) solve_with_plan: Template,
    /// Asks the critic for the score of a question and its verifier.
    pub(super) critique_question: Template,
    /// Asks the critic for the score of a plan.
    pub(super) critique_plan: Template,
}

const MATHEMATICS: Templates = Templates {
    challenge: Template {
        name: "challenge",
        doc: "Asks the challenger for a task like one that is shown.",
        variables: &[QUESTION, STATED],
    },
    plan: Template {
        name: "plan",
        doc: "Asks the planner for a plan.",
        variables: &[QUESTION],
    },
    solve: SOLVE,
    solve_with_plan: Template {
        name: "solve_with_plan",
        doc: "Puts a question to the solver, with a plan.",
        variables: &[QUESTION, PLAN],
    },
    critique_question: Template {
        name: "critique_question",
        doc: "Asks the critic for the score of a question.",
        variables: &[QUESTION, STATED],
    },
    critique_plan: Template {
        name: "critique_plan",
        doc: "Asks the critic for the score of a plan.",
        variables: &[QUESTION, PLAN],
    },
};

const CODE: Templates = Templates {
    challenge: Template {
        name: "challenge_code",
        doc: "Asks the challenger for a task like a task of code.",
        variables: &[QUESTION, TESTS, MIN_TESTS],
    },
    plan: Template {
        name: "plan_code",
        doc: "Asks the planner for a plan of a program.",
        variables: &[QUESTION],
    },
    solve: Template {
        name: "solve_code",
        doc: "Asks the solver for a program.",
        variables: &[QUESTION, ENTRY_POINT],
    },
    solve_with_plan: Template {
        name: "solve_with_plan_code",
        doc: "Asks the solver for a program, with a plan.",
        variables: &[QUESTION, ENTRY_POINT, PLAN],
    },
    critique_question: Template {
        name: "critique_question_code",
        doc: "Asks the critic for the score of a specification and its tests.",
        variables: &[QUESTION, TESTS],
    },
    critique_plan: Template {
        name: "critique_plan_code",
        doc: "Asks the critic for the score of a plan of a program.",
        variables: &[QUESTION, PLAN],
    },
};

impl Templates {
    /// The prompts for problems of `kind`.
    pub(super) const fn of(kind: ProblemKind) -> &'static Self {
        match kind {
            ProblemKind::Code => &CODE,
            _ => &MATHEMATICS,
        }
    }

    const fn all(&self) -> [Template; 6] {
        [
            self.challenge,
            self.plan,
            self.solve,
            self.solve_with_plan,
            self.critique_question,
            self.critique_plan,
        ]
    }

    /// Those that only a run with plans needs.
    fn of_plans(&self) -> [Template; 3] {
        [self.plan, self.solve_with_plan, self.critique_plan]
    }
}

/// The prompts of the recipe.
pub(super) fn templates() -> Vec<Template> {
    [MATHEMATICS.all(), CODE.all()].concat()
}

/// Whether a run needs a template.
pub(super) fn is_needed(template: &Template, has_planning: bool, has_code: bool) -> bool {
    let is_of_plans = [&MATHEMATICS, &CODE]
        .iter()
        .any(|domain| domain.of_plans().contains(template));
    (has_planning || !is_of_plans) && (has_code || !CODE.all().contains(template))
}

/// The fields of a challenge: the question, the kind of its verifier, and what that needs.
pub(super) const CHALLENGE_FIELDS: [Field; 3] = [Field::last("question"), Field::last("type"), Field::last("answer")];
pub(super) const PLAN_FIELDS: [Field; 1] = [Field::last("plan")];
pub(super) const SCORE_FIELDS: [Field; 1] = [Field::first("score")];

impl Step<'_> {
    /// The fields of a completion. [`Reading::score`] is the soft format reward (section 4.1).
    pub(super) fn read(&self, fields: &[Field], completion: &Completion) -> Reading {
        let (text, finish) = (&completion.text, completion.finish_reason);
        self.prompts.grammar.read(fields, text, finish, self.prompts.opening())
    }
}
