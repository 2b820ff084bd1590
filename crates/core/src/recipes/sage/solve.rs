//! The plan–solve phase: plan → critique → gate → solve → grade. The solver is shown plans whose score is high enough.

use std::sync::Arc;

use super::{
    ask::{Call, Said},
    format::Templates,
    plan::{Draught, Planned},
    step::Step,
    task::Task,
};
use crate::{
    contract::{
        Phase, Role,
        phase::{GRADE, SOLVE},
    },
    kit::{Progress, Sequence, join, judge::Judged},
    prompt::{PromptError, PromptSet, Rendered},
};

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
        Some(plan) => prompts.render(
            Templates::of(task.kind()).solve_with_plan.name,
            task.variables(Some(plan)),
        ),
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
            let shown = Shown {
                task: Arc::clone(task),
                plan: good.and_then(|draught| draught.plan.clone().ok()),
            };
            (*number, shown)
        });
        let shown: Vec<(u32, Shown)> = shown.collect();
        let said = self.ask(call, chunk, &shown, prompt)?;
        let said: Vec<Said<'_>> = said.into_iter().flatten().collect();
        let answers: Vec<(&Task, &Said<'_>)> = tasks
            .iter()
            .zip(&said)
            .map(|((_, task), said)| (task.as_ref(), said))
            .collect();
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
            task.verifier
                .given(id, task.verifier.read(&self.prompts, said.completion))
        });
        let given = given.collect();
        let key = self.draft.key(phase, chunk);
        self.draft.judge(&key, given)
    }
}
