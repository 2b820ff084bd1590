//! A step of RLVR.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Parameters;
use crate::contract::{PlanError, RunState, Side, StepView};
use crate::kit::rows::{Answer, Fitted, Measured, Outcomes, Rows, records, row_answers};
use crate::kit::{Learner, Lesson, Member, Progress, both};
use crate::work::MemberUpdated;

/// What a run of RLVR remembers between steps: its members, and which rows were checked. Rows are drawn from the step's
/// number, so no place in the dataset is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// The rows that are known to fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fitted: Option<Fitted>,
}

/// The phases, in order.
pub(crate) struct Step<'a> {
    pub(crate) rows: Rows<'a>,
    parameters: &'a Parameters,
    pub(crate) fitted: Option<Fitted>,
    /// How many batches were drawn before.
    batches: u32,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        memory: Memory,
    ) -> Result<Self, PlanError> {
        let Memory { members, fitted } = memory;
        let rows = Rows::new(run, view, &parameters.prompts, members)?;
        Ok(Self::within(rows, parameters, fitted, run.step))
    }

    /// A step among those of another recipe, after `batches` of its kind.
    pub(crate) fn within(rows: Rows<'a>, parameters: &'a Parameters, fitted: Option<Fitted>, batches: u32) -> Self {
        Self { rows: rows.judged_by(parameters.oracle.as_ref()), parameters, fitted, batches }
    }

    /// Draw → solve → grade → advantages → update; alongside, measure on the held-out rows. Before anything else, every
    /// row is known to fit into the context.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        let born = self.rows.draft.born();
        both(born, self.fit())?;
        let measured = self.measure();
        let (measured, (answers, updated)) = both(measured, self.learn())?;
        self.finish(Outcomes { answers: &answers, updated: &updated, measured: &measured })
    }

    /// Every row that is learned from is known to fit into the context.
    pub(crate) fn fit(&mut self) -> Progress<()> {
        let Parameters { dataset, sampling, .. } = self.parameters;
        let (dataset, rows) = dataset.settled()?;
        self.rows.fit(&mut self.fitted, dataset, rows, sampling)
    }

    fn measure(&mut self) -> Progress<Arc<Vec<Measured>>> {
        let Parameters { held_out, dataset, sampling, items, .. } = self.parameters;
        match held_out {
            Some(held_out) => self.rows.measure(*held_out, dataset.settled()?, sampling, items.solve),
            None => Ok(Arc::default()),
        }
    }

    /// The step's answers, and the updates from them.
    pub(crate) fn learn(&mut self) -> Progress<(Vec<Answer>, Vec<&'a MemberUpdated>)> {
        let Parameters { dataset, items, learning, .. } = self.parameters;
        let questions = self.rows.questions(dataset.settled()?.0, &self.drawn()?)?;
        let answers = self.rows.answers(self.parameters.asking(), &questions, items.solve)?;
        let learners = self.learners(&answers);
        let updated = self.rows.draft.update(Lesson { learning, items }, &learners)?;
        Ok((answers, updated))
    }

    /// Rows for people to look at, and the state before the next step.
    fn finish(&mut self, outcomes: Outcomes<'_>) -> Progress<RunState> {
        let draft = &mut self.rows.draft;
        draft.adopt(outcomes.updated);
        draft.plan.records.metrics = records(draft, outcomes, self.parameters.held_out)?;
        draft.plan.records.row_answers = row_answers(outcomes.answers);
        let members = std::mem::take(&mut draft.members);
        let fitted = self.fitted.take();
        Ok(draft.run.next("", &Memory { members, fitted })?)
    }

    /// The rows of the batch of every member that solves, each with the member's place: out of all that are learned from,
    /// or out of the member's slice.
    fn drawn(&self) -> Result<Vec<(usize, u32)>, PlanError> {
        let Parameters { sampler, batch, .. } = self.parameters;
        let draft = &self.rows.draft;
        let mut drawn = Vec::new();
        let members = draft.members.iter().enumerate();
        for (place, member) in members.filter(|(_, member)| member.role_of(Side::Solves).is_some()) {
            let rows = self.parameters.task(place, draft.members.len())?;
            let path = format!("rows/{}", member.name);
            let rows = sampler.draw(rows, *batch, draft.run.config.seed, &path, self.batches);
            drawn.extend(rows.into_iter().map(|row| (place, row)));
        }
        Ok(drawn)
    }

    /// Every member with its own answers and their advantages.
    pub(super) fn learners(&self, answers: &[Answer]) -> Vec<Learner> {
        let Parameters { advantages, learning, .. } = self.parameters;
        let members = self.rows.draft.members.len();
        self.rows.learners(members, answers, learning, advantages)
    }
}
