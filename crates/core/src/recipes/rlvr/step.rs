//! A step of RLVR.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Parameters;
use crate::contract::{PlanError, RowTags, RunState, Side, StepView};
use crate::kit::rows::{
    Answer, Asking, Batch, Fitted, Measured, Outcomes, Rows, SamplerState, drop_groups, groups, records, row_answers,
};
use crate::kit::{Learner, Lesson, Member, Progress, both};
use crate::work::MemberUpdated;

/// The memory of a run of RLVR between steps: its members, which rows were checked, and the state of its sampler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// The rows that are known to fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fitted: Option<Fitted>,
    /// The state of the sampler, by member; uniform draws and passes have none, unless rows are asked in rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sampler: BTreeMap<String, SamplerState>,
}

/// The phases, in order.
pub(crate) struct Step<'a> {
    pub(crate) rows: Rows<'a>,
    parameters: &'a Parameters,
    pub(crate) fitted: Option<Fitted>,
    /// The state of the sampler, by member.
    pub(crate) sampler: BTreeMap<String, SamplerState>,
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
        let Memory { members, fitted, sampler } = memory;
        let rows = Rows::new(run, view, &parameters.prompts, members)?;
        Ok(Self::within(rows, parameters, (fitted, sampler), run.step))
    }

    /// A step among those of another recipe, after `batches` of its kind.
    pub(crate) fn within(
        rows: Rows<'a>,
        parameters: &'a Parameters,
        (fitted, sampler): (Option<Fitted>, BTreeMap<String, SamplerState>),
        batches: u32,
    ) -> Self {
        Self { rows: rows.judged_by(parameters.oracle.as_ref()), parameters, fitted, sampler, batches }
    }

    /// Draw → solve → grade → advantages → update; alongside, measure on the held-out rows. Before anything else, every
    /// row is known to fit into the context.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        let born = self.rows.draft.born();
        both(born, self.fit())?;
        let levels = self.levels();
        let measured = self.measure();
        let (measured, (answers, updated)) = both(measured, self.learn())?;
        self.finish(Outcomes { answers: &answers, updated: &updated, measured: &measured, levels: &levels })
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
        let Parameters { dataset, items, learning, dynamic, sampler, .. } = self.parameters;
        let dataset = dataset.settled()?.0;
        let tags = sampler.tag().map(|tag| self.rows.draft.tags(dataset, tag)).transpose()?;
        let (mut answers, mut asked) = (Vec::new(), 0);
        for round in 0..dynamic.map_or(1, |dynamic| dynamic.max_rounds) {
            let drawn = self.drawn(round, &answers, tags.as_deref())?;
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
        self.note(&answers, tags.as_deref())?;
        Ok((answers, updated))
    }

    /// Rows for people to look at, and the state before the next step.
    fn finish(&mut self, outcomes: Outcomes<'_>) -> Progress<RunState> {
        let draft = &mut self.rows.draft;
        draft.adopt(outcomes.updated);
        draft.plan.records.metrics = records(draft, outcomes, self.parameters.recorded())?;
        draft.plan.records.row_answers = row_answers(outcomes.answers);
        let members = std::mem::take(&mut draft.members);
        let (fitted, sampler) = (self.fitted.take(), std::mem::take(&mut self.sampler));
        Ok(draft.run.next("", &Memory { members, fitted, sampler })?)
    }

    /// Drops the answers that are not learned from.
    pub(super) fn select(&self, answers: &mut [Answer]) {
        if self.parameters.selects_groups() {
            for member in 0..self.rows.draft.members.len() {
                drop_groups(answers, member, self.parameters.batch as usize);
            }
        }
    }

    /// The level that every member is asked, from 1, if the sampler has levels.
    fn levels(&self) -> Vec<f64> {
        let level = |member: &Member| self.sampler.get(&member.name).map_or(1.0, |state| state.level as f64 + 1.0);
        self.rows.draft.members.iter().map(level).collect()
    }

    /// Updates the state of the sampler.
    fn note(&mut self, answers: &[Answer], tags: Option<&RowTags>) -> Result<(), PlanError> {
        let Parameters { sampler, dynamic, .. } = self.parameters;
        let members = &self.rows.draft.members;
        for (place, member) in members.iter().enumerate() {
            let mut state = self.sampler.get(&member.name).cloned().unwrap_or_default();
            if dynamic.is_some() {
                state.asked = Some(self.asked_before(&member.name) + groups(answers, place).len() as u64);
            }
            let mut rows: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
            for answer in answers.iter().filter(|answer| answer.member == place) {
                rows.entry(answer.place).or_default()[usize::from(!answer.correct)] += 1;
            }
            let learned = self.parameters.task(place, members.len())?;
            sampler.update(&rows.into_iter().collect::<Vec<_>>(), tags, &learned, &mut state);
            if state == SamplerState::default() {
                self.sampler.remove(&member.name);
            } else {
                self.sampler.insert(member.name.clone(), state);
            }
        }
        Ok(())
    }

    /// How many rows a member was asked in earlier steps.
    fn asked_before(&self, member: &str) -> u64 {
        let of_steps = u64::from(self.batches) * u64::from(self.parameters.batch);
        self.sampler.get(member).and_then(|state| state.asked).unwrap_or(of_steps)
    }

    /// The rows that every member that solves is asked in a round, each with the member's place: out of all that are learned
    /// from, or out of the member's slice. In the first round that is a batch, later what it lacks after these `answers`.
    fn drawn(&self, round: u32, answers: &[Answer], tags: Option<&RowTags>) -> Result<Vec<(usize, u32)>, PlanError> {
        let draft = &self.rows.draft;
        let mut drawn = Vec::new();
        let members = draft.members.iter().enumerate();
        for (place, member) in members.filter(|(_, member)| member.role_of(Side::Solves).is_some()) {
            let known = groups(answers, place);
            let differing = known.iter().filter(|(_, differs)| *differs).count() as u32;
            let batch = Batch {
                rows: self.parameters.task(place, draft.members.len())?,
                count: self.parameters.batch.saturating_sub(differing),
                before: self.asked_before(&member.name) + known.len() as u64,
                seed: draft.run.config.seed,
                path: &format!("rows/{}", member.name),
                step: self.batches,
                round,
                tags,
            };
            let nothing = SamplerState::default();
            let rows = self.parameters.sampler.draw(&batch, self.sampler.get(&member.name).unwrap_or(&nothing));
            if rows.is_empty() && batch.count > 0 {
                let Range { start, end } = batch.rows;
                let detail = format!(
                    "none of the rows {start} to {} that member {} learns from has a value of the tag that the sampler asks",
                    end.saturating_sub(1),
                    member.name
                );
                return Err(PlanError::Other(detail));
            }
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
