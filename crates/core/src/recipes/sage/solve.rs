//! The plan–solve phase: plan → critique → gate → solve → grade. The solver is shown plans whose score is high enough.

use std::sync::Arc;

use super::ask::{Call, PLAN_FIELDS, Said, Templates};
use super::critique::{Critique, Scored, Subject};
use super::step::Step;
use super::task::Task;
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{AttemptRecord, CostClass, Phase, Role};
use crate::kit::judge::Judged;
use crate::kit::{Progress, Sequence, join};
use crate::prompt::{Answer, PromptError, PromptSet, Rendered};
use crate::verify::Status;

/// An answer that is learned from, and the plan for its task.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    /// What the solver learns from.
    pub(super) sequence: Sequence,
    /// The plan; `None` in a run without planning.
    pub(super) planned: Option<Planned>,
    /// Whether the solver saw the plan.
    pub(super) is_shown: bool,
    pub(super) well_formed: bool,
    pub(super) correct: bool,
    /// Whether the task's stated answer is right; `None` if only people can tell.
    pub(super) has_right_label: Option<bool>,
}

/// The prompt for an answer without a plan.
pub(super) fn plain_prompt(prompts: &PromptSet, task: &Task) -> Result<Rendered, PromptError> {
    prompts.render(Templates::of(task.kind()).solve.name, task.variables(None))
}

/// A task as the solver sees it.
struct Shown {
    task: Arc<Task>,
    /// The plan, if its score is high enough.
    plan: Option<String>,
}

fn prompt(prompts: &PromptSet, shown: &Shown) -> Result<Rendered, PromptError> {
    let Shown { task, plan } = shown;
    match plan {
        Some(plan) => prompts.render(Templates::of(task.kind()).solve_with_plan.name, task.variables(Some(plan))),
        None => plain_prompt(prompts, task),
    }
}

impl Step<'_> {
    /// The answers to the step's tasks, in order. `new` are the tasks that joined in this step.
    pub(super) fn plan_and_solve(&mut self, new: &[Arc<Task>]) -> Progress<Vec<Solved>> {
        let tasks = self.draw("tasks", self.parameters.tasks, new)?;
        let tasks: Vec<(u32, Arc<Task>)> = (0..).zip(tasks.iter().cloned()).collect();
        let chunks = (0..).zip(tasks.chunks(self.parameters.items.solve as usize));
        let view = self.draft.view;
        let solved = join(chunks, |(chunk, tasks)| {
            view.once(&format!("solved/{chunk}"), || self.plan_and_solve_chunk(chunk, tasks))
        })?;
        Ok(solved.iter().flat_map(|chunk| chunk.iter().cloned()).collect())
    }

    fn plan_and_solve_chunk(&mut self, chunk: u32, tasks: &[(u32, Arc<Task>)]) -> Progress<Vec<Solved>> {
        let plans = match self.parameters.planning {
            true => self.plan(chunk, tasks)?.into_iter().map(Some).collect(),
            false => tasks.iter().map(|_| None).collect(),
        };
        self.solve(chunk, tasks, plans)
    }

    /// The answers to a chunk of numbered tasks, for which there are these plans.
    fn solve(&mut self, chunk: u32, tasks: &[(u32, Arc<Task>)], plans: Vec<Option<Draught>>) -> Progress<Vec<Solved>> {
        let parameters = self.parameters;
        let call = Call {
            phase: SOLVE,
            role: Role::Solver,
            samples: 1,
            sampling: &parameters.sampling.solve,
            is_learned: true,
        };
        let gates = parameters.gates();
        let shown = tasks.iter().zip(&plans).map(|((number, task), draught)| {
            let good = draught.as_ref().filter(|draught| gates.shows(draught.planned.score));
            let shown = Shown { task: Arc::clone(task), plan: good.and_then(|draught| draught.plan.clone().ok()) };
            (*number, shown)
        });
        let shown: Vec<(u32, Shown)> = shown.collect();
        let said: Vec<Said<'_>> = self.ask(call, chunk, &shown, prompt)?.into_iter().flatten().collect();
        let answers: Vec<(&Task, &Said<'_>)> =
            tasks.iter().zip(&said).map(|((_, task), said)| (task.as_ref(), said)).collect();
        let judged = self.grade((GRADE, chunk), &answers)?;
        let mut solved = Vec::with_capacity(tasks.len());
        for ((((_, shown), said), judged), draught) in shown.iter().zip(&said).zip(judged).zip(plans) {
            let (planned, rows) = draught.map(|draught| (draught.planned, draught.rows)).unzip();
            let format = shown.task.verifier.format(&self.prompts, said.completion);
            let is_shown = shown.plan.is_some();
            let plan = planned.as_ref().map(|planned| planned.score).filter(|_| is_shown);
            let reward = match parameters.planning {
                true => parameters.rewards.answer(plan, judged.correct, format),
                false => parameters.rewards.answer_without_planning(judged.correct, format),
            };
            solved.push(Solved {
                sequence: said.sample.sequence(reward.total, said.sample.request),
                planned,
                is_shown,
                well_formed: judged.answer.is_ok(),
                correct: judged.correct,
                has_right_label: shown.task.is_right(),
            });
            let own = self.attempt((Role::Solver, shown.task.problem), said, judged, reward)?;
            let attempts = &mut self.draft.plan.records.attempts;
            attempts.extend(rows.into_iter().flatten());
            attempts.push(own);
        }
        Ok(solved)
    }

    /// Judges answers to tasks, in order.
    pub(super) fn grade(
        &mut self,
        (phase, chunk): (Phase, u32),
        answers: &[(&Task, &Said<'_>)],
    ) -> Progress<Vec<Judged>> {
        let given = answers.iter().map(|(task, said)| {
            let id = format!("{}/{}", said.sample.request, said.sample.index);
            task.verifier.given(id, task.verifier.read(&self.prompts, said.completion))
        });
        let given = given.collect();
        let key = self.draft.key(phase, chunk);
        self.draft.judge(&key, given)
    }
}

// The planner plans solutions, and the critic scores the plans.

pub(super) const PLAN: Phase = Phase::new("plan", CostClass::Plan);

/// A plan.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// What the planner learns from.
    pub(super) sequence: Sequence,
    /// Its score; `None` if the plan cannot be read.
    pub(super) critique: Option<Critique>,
    /// The score, which is 0 if the plan cannot be read.
    pub(super) score: f32,
}

/// A plan with its text and the rows about it.
struct Draught {
    pub(super) planned: Planned,
    pub(super) plan: Answer,
    pub(super) rows: Vec<AttemptRecord>,
}

impl Step<'_> {
    /// The plans for a chunk of numbered tasks, in order.
    fn plan(&mut self, chunk: u32, tasks: &[(u32, Arc<Task>)]) -> Progress<Vec<Draught>> {
        let parameters = self.parameters;
        let call = Call {
            phase: PLAN,
            role: Role::Planner,
            samples: 1,
            sampling: &parameters.sampling.plan,
            is_learned: true,
        };
        let said = self.ask(call, chunk, tasks, |prompts, task| {
            prompts.render(Templates::of(task.kind()).plan.name, task.variables(None))
        })?;
        let said: Vec<_> = said.into_iter().flatten().collect();
        let read = said.iter().map(|said| {
            let reading = self.read(&PLAN_FIELDS, said.completion);
            (reading.text("plan").map(str::to_owned), reading.score())
        });
        let read: Vec<(Answer, f32)> = read.collect();
        let subjects = tasks.iter().zip(&read).filter_map(|((number, task), (plan, _))| {
            let subject = Subject { task: Arc::clone(task), plan: Some(plan.clone().ok()?) };
            Some((*number, subject))
        });
        let subjects: Vec<(u32, Subject)> = subjects.collect();
        let mut critiques = self.critique(Scored::Plans, chunk, &subjects)?.into_iter();
        let mut plans = Vec::with_capacity(tasks.len());
        for (((_, task), said), (plan, format)) in tasks.iter().zip(&said).zip(read) {
            let (critique, row) = plan.as_ref().ok().and_then(|_| critiques.next()).unzip();
            let score = critique.as_ref().map_or(0.0, |critique| critique.score);
            let reward = parameters.rewards.plan(score, format);
            let planned =
                Planned { sequence: said.sample.sequence(reward.total, said.sample.request), critique, score };
            let judged = Judged {
                correct: false,
                status: if plan.is_ok() { Status::Ok } else { Status::Malformed },
                reason: plan.as_ref().err().cloned().unwrap_or_default(),
                answer: plan.clone(),
            };
            let own = self.attempt((Role::Planner, task.problem), said, judged, reward)?;
            plans.push(Draught { planned, plan, rows: [own].into_iter().chain(row).collect() });
        }
        Ok(plans)
    }
}
