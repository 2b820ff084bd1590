//! The planner plans solutions, and the critic scores the plans.

use std::sync::Arc;

use super::{
    ask::Call,
    critique::{Critique, Scored, Subject},
    format::{PLAN_FIELDS, Templates},
    step::Step,
    task::Task,
};
use crate::{
    contract::{AttemptRecord, CostClass, Phase, Role},
    kit::{Progress, Sequence, judge::Judged},
    prompt::Answer,
    verify::Status,
};

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
pub(super) struct Draught {
    pub(super) planned: Planned,
    pub(super) plan: Answer,
    pub(super) rows: Vec<AttemptRecord>,
}

impl Step<'_> {
    /// The plans for a chunk of numbered tasks, in order.
    pub(super) fn plan(&mut self, chunk: u32, tasks: &[(u32, Arc<Task>)]) -> Progress<Vec<Draught>> {
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
            let subject = Subject {
                task: Arc::clone(task),
                plan: Some(plan.clone().ok()?),
            };
            Some((*number, subject))
        });
        let subjects: Vec<(u32, Subject)> = subjects.collect();
        let mut critiques = self.critique(Scored::Plans, chunk, &subjects)?.into_iter();
        let mut plans = Vec::with_capacity(tasks.len());
        for (((_, task), said), (plan, format)) in tasks.iter().zip(&said).zip(read) {
            let (critique, row) = plan.as_ref().ok().and_then(|_| critiques.next()).unzip();
            let score = critique.as_ref().map_or(0.0, |critique| critique.score);
            let reward = parameters.rewards.plan(score, format);
            let planned = Planned {
                sequence: said.sample.sequence(reward.total, said.sample.request),
                critique,
                score,
            };
            let judged = Judged {
                correct: false,
                status: if plan.is_ok() { Status::Ok } else { Status::Malformed },
                reason: plan.as_ref().err().cloned().unwrap_or_default(),
                answer: plan.clone(),
            };
            let own = self.attempt((Role::Planner, task.problem), said, judged, reward)?;
            plans.push(Draught {
                planned,
                plan,
                rows: [own].into_iter().chain(row).collect(),
            });
        }
        Ok(plans)
    }
}
