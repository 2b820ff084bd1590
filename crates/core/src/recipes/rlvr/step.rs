//! A step of RLVR.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Parameters;
use crate::contract::{PlanError, RunState, Side, StepView};
use crate::kit::rows::{
    Answer, Asking, Fitted, Measured, Outcomes, Rows, Sampler, drop_groups, groups, records, row_answers,
};
use crate::kit::{Learner, Lesson, Member, Progress, both};
use crate::work::MemberUpdated;

/// What a run of RLVR remembers between steps: its members, which rows were checked, and how many were asked. Without dynamic
/// sampling that follows from the step's number, so it is not kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// The rows that are known to fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fitted: Option<Fitted>,
    /// How many rows each member was asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) asked: BTreeMap<String, u64>,
}

/// The phases, in order.
pub(crate) struct Step<'a> {
    pub(crate) rows: Rows<'a>,
    parameters: &'a Parameters,
    pub(crate) fitted: Option<Fitted>,
    /// How many rows each member was asked before, where it does not follow from `batches`.
    pub(crate) asked: BTreeMap<String, u64>,
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
        let Memory { members, fitted, asked } = memory;
        let rows = Rows::new(run, view, &parameters.prompts, members)?;
        Ok(Self::within(rows, parameters, (fitted, asked), run.step))
    }

    /// A step among those of another recipe, after `batches` of its kind.
    pub(crate) fn within(
        rows: Rows<'a>,
        parameters: &'a Parameters,
        (fitted, asked): (Option<Fitted>, BTreeMap<String, u64>),
        batches: u32,
    ) -> Self {
        Self { rows: rows.judged_by(parameters.oracle.as_ref()), parameters, fitted, asked, batches }
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
        let Parameters { dataset, items, learning, dynamic, .. } = self.parameters;
        let dataset = dataset.settled()?.0;
        let (mut answers, mut asked) = (Vec::new(), 0);
        for round in 0..dynamic.map_or(1, |dynamic| dynamic.max_rounds) {
            let drawn = self.drawn(round, &answers)?;
            if drawn.is_empty() {
                break;
            }
            let questions = self.rows.questions(dataset, &drawn, asked)?;
            let asking = Asking { round, ..self.parameters.asking() };
            answers.extend(self.rows.answers(asking, &questions, items.solve)?);
            asked += questions.len() as u32;
        }
        self.select(&mut answers);
        let learners = self.learners(&answers);
        let updated = self.rows.draft.update(Lesson { learning, items }, &learners)?;
        Ok((answers, updated))
    }

    /// Rows for people to look at, and the state before the next step.
    fn finish(&mut self, outcomes: Outcomes<'_>) -> Progress<RunState> {
        let draft = &mut self.rows.draft;
        draft.adopt(outcomes.updated);
        draft.plan.records.metrics =
            records(draft, outcomes, self.parameters.held_out, self.parameters.selects_groups())?;
        draft.plan.records.row_answers = row_answers(outcomes.answers);
        let members = std::mem::take(&mut draft.members);
        let (fitted, asked) = (self.fitted.take(), std::mem::take(&mut self.asked));
        Ok(draft.run.next("", &Memory { members, fitted, asked })?)
    }

    /// Counts what every member was asked, and drops the answers that are not learned from.
    pub(super) fn select(&mut self, answers: &mut [Answer]) {
        let Parameters { batch, dynamic, .. } = self.parameters;
        if !self.parameters.selects_groups() {
            return;
        }
        for (place, member) in self.rows.draft.members.iter().enumerate() {
            if dynamic.is_some() {
                let before = self.asked_before(&member.name);
                self.asked.insert(member.name.clone(), before + groups(answers, place).len() as u64);
            }
            drop_groups(answers, place, *batch as usize);
        }
    }

    /// How many rows a member was asked in earlier steps.
    fn asked_before(&self, member: &str) -> u64 {
        let of_steps = u64::from(self.batches) * u64::from(self.parameters.batch);
        self.asked.get(member).copied().unwrap_or(of_steps)
    }

    /// The rows that every member that solves is asked in a round, each with the member's place: out of all that are learned
    /// from, or out of the member's slice. In the first round that is a batch, later what it lacks after these `answers`.
    fn drawn(&self, round: u32, answers: &[Answer]) -> Result<Vec<(usize, u32)>, PlanError> {
        let Parameters { sampler, batch, .. } = self.parameters;
        let draft = &self.rows.draft;
        let mut drawn = Vec::new();
        let members = draft.members.iter().enumerate();
        for (place, member) in members.filter(|(_, member)| member.role_of(Side::Solves).is_some()) {
            let rows = self.parameters.task(place, draft.members.len())?;
            let known = groups(answers, place);
            let differing = known.iter().filter(|(_, differs)| *differs).count() as u32;
            let before = self.asked_before(&member.name) + known.len() as u64;
            // The order of a pass is the same in every round.
            let path = match (sampler, round) {
                (Sampler::Epochs, _) | (_, 0) => format!("rows/{}", member.name),
                (Sampler::Uniform, _) => format!("rows/{}/round-{round}", member.name),
            };
            let lacking = batch.saturating_sub(differing);
            let rows = sampler.draw_after(before, rows, lacking, draft.run.config.seed, &path, self.batches);
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
