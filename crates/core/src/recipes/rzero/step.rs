//! A step: one of the four stages.

use std::sync::Arc;

use super::{
    Parameters,
    memory::Memory,
    metrics::{Tally, records},
    parameters::{CURRICULUM, PROPOSER, SOLVER},
};
use crate::{
    contract::{PlanError, Role, RunState, Stage, StepView},
    kit::{Draft, Learner, LearningConfig, Lesson, Progress, Sequence, mathematics::prompt_error},
    prompt::{PromptSet, Rendered},
    work::MemberUpdated,
};

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
    pub(super) stage: Stage,
    pub(super) prompts: Arc<PromptSet>,
    /// Positions of the members that propose.
    pub(super) proposers: Vec<usize>,
    /// Positions of the members that solve.
    pub(super) solvers: Vec<usize>,
}

impl<'a> Step<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory: Memory = run.memory()?;
        let over = || PlanError::Other(format!("step {} is after the last stage", run.step));
        let draft = Draft::new(run, view, std::mem::take(&mut memory.members));
        let playing = |role: Role| -> Vec<usize> {
            let members = draft.members.iter().enumerate();
            members
                .filter(|(_, member)| member.plays(role))
                .map(|(place, _)| place)
                .collect()
        };
        Ok(Self {
            stage: parameters.stages().at(run.step).ok_or_else(over)?,
            prompts: view.once("prompts", || {
                PromptSet::compile(&parameters.prompts).map_err(prompt_error)
            })?,
            proposers: playing(Role::Proposer),
            solvers: playing(Role::Solver),
            draft,
            parameters,
            memory,
        })
    }

    /// Train proposers, or generate a curriculum, or train solvers, or measure diversity.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        self.begin_stage();
        let tally = match self.stage.name {
            PROPOSER => self.train_proposers()?,
            CURRICULUM => self.generate_curriculum()?,
            SOLVER => self.train_solvers()?,
            _ => self.measure_diversity()?,
        };
        self.finish(&tally)
    }

    /// Remembers where the stage starts.
    fn begin_stage(&mut self) {
        if self.stage.index > 0 {
            return;
        }
        for member in &mut self.draft.members {
            if let Some(adapter) = member.adapter.as_mut().filter(|_| self.parameters.restart_optimizers) {
                adapter.optimizer = None;
            }
        }
        self.memory.stage_start = self.draft.members.iter().map(|member| member.adapter).collect();
    }

    /// Updates members, each from its own sequences; returns once all are there.
    pub(super) fn update(
        &mut self,
        learning: &LearningConfig,
        lessons: &[(usize, Sequence)],
    ) -> Progress<Vec<&'a MemberUpdated>> {
        let learners: Vec<Learner> = (0..self.draft.members.len())
            .map(|member| self.learner(member, learning, lessons))
            .collect();
        let items = &self.parameters.items;
        let updated = self.draft.update(Lesson { learning, items }, &learners)?;
        self.draft.adopt(&updated);
        Ok(updated)
    }

    fn learner(&self, member: usize, learning: &LearningConfig, lessons: &[(usize, Sequence)]) -> Learner {
        let own = lessons.iter().filter(|(learner, _)| *learner == member);
        let sequences: Vec<Sequence> = own.map(|(_, sequence)| sequence.clone()).collect();
        let mut batch: Vec<_> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
        learning.alter(&mut batch, self.draft.run, &self.draft.members[member].name);
        let start = self.memory.stage_start.get(member).copied().flatten();
        Learner {
            member,
            advantages: self.parameters.advantages.advantages(&batch),
            sequences,
            kl_reference: start.filter(|_| self.parameters.kl_to_stage_start && learning.loss.kl != 0.0),
        }
    }

    /// Metrics, and the state before the next step.
    fn finish(&mut self, tally: &Tally<'_>) -> Progress<RunState> {
        let run = self.draft.run;
        let records = records(self, tally)?;
        self.draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut self.draft.members);
        let next = run.next(self.parameters.stages().name_at(run.step + 1), &self.memory)?;
        let vectors = self.memory.embedded.iter().map(|(vectors, _)| *vectors);
        Ok(next.keeping(vectors))
    }

    /// The prompt for a proposal, always the same.
    pub(super) fn propose_prompt(&self) -> Result<Rendered, PlanError> {
        self.prompts
            .render("propose", minijinja::context! {})
            .map_err(prompt_error)
    }

    /// Proposals for each prompt of the stage.
    pub(super) fn samples_per_prompt(&self) -> u32 {
        match self.stage.name {
            PROPOSER => self.parameters.proposer.n,
            _ => 1,
        }
    }
}
