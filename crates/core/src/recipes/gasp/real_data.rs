//! RLVR on real data after an iteration (section 3.4): a step of the recipe `rlvr` on the student.

use super::{
    Parameters,
    memory::Memory,
    metrics::{Tally, records},
    parameters::REAL_DATA,
};
use crate::{
    contract::{Plan, PlanError, RunState, StepView},
    kit::{
        Progress,
        rows::{Rows, row_answers},
    },
    recipes::rlvr::step::Step as Rlvr,
};

/// A step of the stage `real_data` being planned.
pub(super) struct RealData<'a> {
    rlvr: Rlvr<'a>,
    parameters: &'a Parameters,
    memory: Memory,
}

impl<'a> RealData<'a> {
    /// The step, if it is of this stage.
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
    ) -> Result<Option<Self>, PlanError> {
        let stage = parameters.stage(run)?;
        let Some(real) = parameters.real_data.as_ref().filter(|_| stage.name == REAL_DATA) else {
            return Ok(None);
        };
        let mut memory: Memory = run.memory()?;
        let members = std::mem::take(&mut memory.members);
        let rows = Rows::new(run, view, &real.prompts, members)?;
        let batches = stage.iteration * stage.of + stage.index;
        Ok(Some(Self {
            rlvr: Rlvr::within(rows, real, memory.fitted.take(), batches),
            parameters,
            memory,
        }))
    }

    /// Draw → solve → grade → update, once every row is known to fit into the context.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.rlvr.fit()?;
        let (answers, updated) = self.rlvr.learn()?;
        let draft = &mut self.rlvr.rows.draft;
        draft.adopt(&updated);
        draft.plan.records.row_answers = row_answers(&answers);
        let tally = Tally {
            answers,
            updated,
            ..Tally::default()
        };
        let records = records(draft, self.parameters, &self.memory, &tally)?;
        draft.plan.records.metrics = records;
        self.memory.members = std::mem::take(&mut draft.members);
        self.memory.fitted = self.rlvr.fitted.take();
        self.parameters.next(self.rlvr.rows.draft.run, &self.memory)
    }

    /// The plan of the step with this outcome.
    pub(super) fn close(self, outcome: Progress<RunState>) -> Result<Plan, PlanError> {
        self.rlvr.rows.draft.close(outcome)
    }
}
