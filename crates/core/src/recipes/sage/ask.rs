//! Asks members in their roles, and records what they said.

use super::step::Step;
use crate::contract::{AttemptRecord, Phase, PlanError, Role};
use crate::id::ProblemId;
use crate::kit::judge::{ANSWER, Judged, SOLVE, prompt_error};
use crate::kit::rows::Reward;
use crate::kit::{Generation, Progress, Sample};
use crate::prompt::{Field, PromptError, PromptSet, Reading, Rendered, Template, Variable};
use crate::verify::ProblemKind;
use crate::work::{Completion, Sampling};

/// A request to a role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'p> {
    /// The phase of the items.
    pub(super) phase: Phase,
    pub(super) role: Role,
    /// Completions of each prompt.
    pub(super) samples: u32,
    pub(super) sampling: &'p Sampling,
    /// Whether the role learns from them, unless it is frozen.
    pub(super) is_learned: bool,
}

/// A completion.
#[derive(Clone, Debug)]
pub(super) struct Said<'r> {
    pub(super) sample: Sample,
    pub(super) completion: &'r Completion,
}

impl<'a> Step<'a> {
    /// The completions of a chunk's prompts, by prompt. Each is asked with the number that names it in the step; without
    /// prompts there is no item.
    pub(super) fn ask<A>(
        &mut self,
        call: Call<'_>,
        chunk: u32,
        asked: &[(u32, A)],
        prompt: impl Fn(&PromptSet, &A) -> Result<Rendered, PromptError>,
    ) -> Progress<Vec<Vec<Said<'a>>>> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.draft.key(call.phase, chunk);
        let member = self.player(call.role)?;
        let prompts = &self.prompts;
        let keep_tokens = call.is_learned && self.parameters.learns(call.role);
        let result = self.draft.generate(&key, [asked.len(), call.samples as usize], || {
            let requests = asked.iter().map(|(number, asked)| {
                let rendered = prompt(prompts, asked).map_err(prompt_error)?;
                Ok((*number, member, rendered.prompt))
            });
            Ok(Generation {
                sampling: call.sampling.clone(),
                samples: call.samples,
                keep_tokens,
                draws: None,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })?;
        let said = asked.iter().zip(&result.generated).map(|((number, _), generated)| {
            let said = (0..)
                .zip(&generated.completions)
                .map(|(index, completion)| Said { sample: Sample::of(&key, *number, index, completion), completion });
            said.collect()
        });
        Ok(said.collect())
    }

    /// The row of what a member said about `problem` in `role`.
    pub(super) fn attempt(
        &self,
        (role, problem): (Role, ProblemId),
        said: &Said<'_>,
        judged: Judged,
        reward: Reward,
    ) -> Result<AttemptRecord, PlanError> {
        let run = self.draft.run.run;
        Ok(AttemptRecord {
            id: said.sample.attempt(run),
            problem,
            solver: self.draft.members[self.player(role)?].playing(run),
            role,
            sample: said.sample.index,
            text: said.completion.text.clone(),
            well_formed: judged.answer.is_ok(),
            answer: judged.answer.ok(),
            reading: None,
            status: judged.status,
            reason: judged.reason,
            correct: judged.correct,
            reward: reward.total,
            reward_parts: reward.parts,
            tokens: said.completion.tokens,
        })
    }
}

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
    plan: Template { name: "plan", doc: "Asks the planner for a plan.", variables: &[QUESTION] },
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
    plan: Template { name: "plan_code", doc: "Asks the planner for a plan of a program.", variables: &[QUESTION] },
    solve: Template { name: "solve_code", doc: "Asks the solver for a program.", variables: &[QUESTION, ENTRY_POINT] },
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
        [self.challenge, self.plan, self.solve, self.solve_with_plan, self.critique_question, self.critique_plan]
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
    let is_of_plans = [&MATHEMATICS, &CODE].iter().any(|domain| domain.of_plans().contains(template));
    (has_planning || !is_of_plans) && (has_code || !CODE.all().contains(template))
}

/// The fields of a challenge: the question, the kind of its verifier, and what that needs.
pub(super) const CHALLENGE_FIELDS: [Field; 3] = [Field::last("question"), Field::last("type"), Field::last("answer")];
pub(super) const PLAN_FIELDS: [Field; 1] = [Field::last("plan")];
pub(super) const SCORE_FIELDS: [Field; 1] = [Field::first("score")];

/// Reads an answer to a template of [`templates`]; programs are read by the rules of code.
pub(super) fn reads(prompts: &PromptSet, template: &str, answer: &str) -> Result<(), String> {
    match template {
        "solve" | "solve_with_plan" => prompts.reads(&[ANSWER], answer),
        _ if template.starts_with("challenge") => prompts.reads(&CHALLENGE_FIELDS, answer),
        _ if template.starts_with("plan") => prompts.reads(&PLAN_FIELDS, answer),
        _ if template.starts_with("critique") => prompts.reads(&SCORE_FIELDS, answer),
        _ => Ok(()),
    }
}

impl Step<'_> {
    /// The fields of a completion. [`Reading::score`] is the soft format reward (section 4.1).
    pub(super) fn read(&self, fields: &[Field], completion: &Completion) -> Reading {
        let (text, finish) = (&completion.text, completion.finish_reason);
        self.prompts.grammar.read(fields, text, finish, self.prompts.opening())
    }
}
