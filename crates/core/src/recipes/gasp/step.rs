//! A step: one of the paper's phases (Algorithm 1).

use std::sync::Arc;

use super::{
    Parameters,
    memory::Memory,
    metrics::{Tally, records},
    parameters::{LEMMA, LIFT},
    size::Sizes,
};
use crate::{
    contract::{PlanError, Role, RunState, Stage, StepView},
    id::ProblemId,
    kit::{Draft, Progress, code::Problem, mathematics::prompt_error},
    prompt::PromptSet,
};

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
    stage: Stage,
    pub(super) prompts: Arc<PromptSet>,
    pub(super) sizes: Arc<Sizes>,
}

impl<'a> Step<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory: Memory = run.memory()?;
        let prompts = view.once("prompts", || {
            PromptSet::compile(&parameters.prompts).map_err(prompt_error)
        })?;
        Ok(Self {
            draft: Draft::new(run, view, std::mem::take(&mut memory.members)),
            stage: parameters.stage(run)?,
            sizes: view.once("sizes", || Sizes::measure(&prompts, parameters).map_err(prompt_error))?,
            prompts,
            parameters,
            memory,
        })
    }

    /// Make lemmas from goalposts, or lifts from lemmas, or train the student on both.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        let tally = match self.stage.name {
            LEMMA => self.make_lemmas()?,
            LIFT => self.make_lifts()?,
            _ => self.train_student()?,
        };
        self.finish(&tally)
    }

    /// Metrics, and the state before the next step.
    fn finish(&mut self, tally: &Tally<'_>) -> Progress<RunState> {
        let records = records(&self.draft, self.parameters, &self.memory, tally)?;
        self.draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut self.draft.members);
        self.parameters.next(self.draft.run, &self.memory)
    }

    /// The position of the member that plays `role`.
    pub(super) fn player(&self, role: Role) -> Result<usize, PlanError> {
        let place = self.draft.members.iter().position(|member| member.plays(role));
        place.ok_or_else(|| PlanError::Other(format!("nobody plays {}", role.name())))
    }

    /// A lemma or lift of an earlier step.
    pub(super) fn stone(&self, id: ProblemId) -> Result<Problem, PlanError> {
        let found = self.draft.view.problems.get(&id).and_then(Problem::of);
        found.ok_or_else(|| PlanError::Other(format!("problem {id} is not valid")))
    }
}

impl Parameters {
    /// The stage of a run's next step.
    pub(super) fn stage(&self, run: &RunState) -> Result<Stage, PlanError> {
        let over = || PlanError::Other(format!("step {} is after the last stage", run.step));
        self.stages().at(run.step).ok_or_else(over)
    }

    /// The state before the next step.
    pub(super) fn next(&self, run: &RunState, memory: &Memory) -> Progress<RunState> {
        let next = run.next(self.stages().name_at(run.step + 1), memory)?;
        Ok(next.keeping(memory.buffers.vectors()))
    }
}
