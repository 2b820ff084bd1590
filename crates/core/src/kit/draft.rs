//! A step being planned: shared by all recipes, whatever their problems.

mod generate;
mod members;
mod update;

pub use self::generate::{Generation, Sample, completions};
pub use self::members::{
    Member, Names, founders, population_faults, read_parameters, resolved, single_population_fault, written_out,
};
pub use self::update::{Learner, Lesson, Sequence};

use std::sync::Arc;

use super::{Pause, Progress};
use crate::artifact::Digest;
use crate::config::PopulationConfig;
use crate::contract::phase::MEASURE;
use crate::contract::{DatasetRow, Plan, PlanError, RowTags, RunState, StepView, Want, WorkItem, WorkState};
use crate::footprint::{BaseShape, UpdateShape};
use crate::id::{DatasetId, ProblemId};
use crate::seed::derive;
use crate::verify::{Task, Verdict};
use crate::work::{
    EvolvePayload, EvolveResult, Outcome, Payload, Requirements, RolloutPayload, RolloutResult, SequenceRef,
    UpdatePayload, VerifyPayload, WorkKey,
};

/// A step being planned: its view, and the plan so far.
///
/// Phases return [`Progress`]: a phase asks for the work it needs, unless the view has it already, and waits until that
/// work has ended. Asking again and writing a record again are harmless, so phases keep no state.
pub struct Draft<'a> {
    /// The run before the step.
    pub run: &'a RunState,
    /// The results of the step so far.
    pub view: &'a StepView,
    /// The plan so far.
    pub plan: Plan,
    /// The living members of all populations, by position.
    pub members: Vec<Member>,
}

impl<'a> Draft<'a> {
    /// A step of these members with nothing planned.
    pub fn new(run: &'a RunState, view: &'a StepView, members: Vec<Member>) -> Self {
        Self { run, view, plan: Plan::default(), members }
    }

    /// The plan of a step with this `outcome`: the run's next state, or a pause.
    pub fn close(mut self, outcome: Progress<RunState>) -> Result<Plan, PlanError> {
        self.view.unwritten(&mut self.plan.records);
        match outcome {
            Ok(next) => self.plan.finish = Some(next.having_generated(self.generated_tokens())),
            Err(Pause::Waiting) => {}
            Err(Pause::Failed(error)) => return Err(error),
        }
        Ok(self.plan)
    }

    /// Tokens that the step has generated so far, if the run has a budget of them.
    fn generated_tokens(&self) -> u64 {
        if self.run.config.budget.is_none() {
            return 0;
        }
        let counted = self.view.work.iter().filter(|(key, _)| key.phase != MEASURE.name);
        let tokens = counted.map(|(_, state)| match state {
            WorkState::Done(Outcome::Rollout(rollout)) => rollout.usage.completion_tokens,
            _ => 0,
        });
        tokens.sum()
    }

    pub fn key(&self, phase: impl Into<String>, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }

    pub fn seed(&self, key: &WorkKey, item: u32) -> u64 {
        derive(self.run.config.seed, &key.to_string(), u64::from(item))
    }

    /// The population of a member, with its name.
    pub fn population(&self, place: usize) -> Result<(&'a str, &'a PopulationConfig), PlanError> {
        let populations = &self.run.config.populations;
        let found = match self.members.get(place).and_then(|member| member.population.as_deref()) {
            Some(name) => populations.get_key_value(name),
            None => populations.first_key_value(),
        };
        found
            .map(|(name, population)| (name.as_str(), population))
            .ok_or_else(|| PlanError::Other(format!("the config has no population for member {place}")))
    }

    /// Asks for a rollout and returns its result.
    pub fn rollout(
        &mut self,
        key: &WorkKey,
        payload: impl FnOnce(&Self) -> Result<RolloutPayload, PlanError>,
    ) -> Progress<&'a RolloutResult> {
        if !self.is_asked(key) {
            let payload = payload(self)?;
            self.ask(key.clone(), Payload::Rollout(payload), None);
        }
        self.view.rollout(key)?.ok_or(Pause::Waiting)
    }

    /// Asks for the verdicts on `count` tasks, one each, and returns them. Without tasks there is no item.
    pub fn verify(
        &mut self,
        key: &WorkKey,
        count: usize,
        tasks: impl FnOnce() -> Vec<Task>,
    ) -> Progress<&'a [Verdict]> {
        if count == 0 {
            return Ok(&[]);
        }
        if !self.is_asked(key) {
            let payload = VerifyPayload::new(tasks(), self.run.config.programs);
            self.ask(key.clone(), Payload::Verify(payload), None);
        }
        let verdicts = &self.view.verify(key)?.ok_or(Pause::Waiting)?.verdicts;
        if verdicts.len() != count {
            let detail = format!("{} verdicts where {count} were asked", verdicts.len());
            return Err(Self::misfit(key, detail).into());
        }
        Ok(verdicts)
    }

    /// Asks for verdicts on `tasks`, those of the items that are `judged`, and returns the verdict of every item; `None` for
    /// one that is not judged, such as an answer that cannot be read.
    pub(crate) fn verify_some(
        &mut self,
        key: &WorkKey,
        judged: impl Iterator<Item = bool> + Clone,
        tasks: impl FnOnce() -> Vec<Task>,
    ) -> Progress<Vec<Option<&'a Verdict>>> {
        let count = judged.clone().filter(|is_judged| *is_judged).count();
        let mut verdicts = self.verify(key, count, tasks)?.iter();
        let verdict = |is_judged| if is_judged { verdicts.next() } else { None };
        Ok(judged.map(verdict).collect())
    }

    /// Asks for a child and returns it.
    pub fn evolve(&mut self, key: &WorkKey, payload: impl FnOnce() -> EvolvePayload) -> Progress<&'a EvolveResult> {
        if !self.is_asked(key) {
            self.ask(key.clone(), Payload::Evolve(payload()), None);
        }
        self.view.evolve(key)?.ok_or(Pause::Waiting)
    }

    /// Waits until every problem of `ids` is in the view.
    pub fn problems(&mut self, ids: impl IntoIterator<Item = ProblemId>) -> Progress<()> {
        let known = &self.view.problems;
        let mut missing: Vec<ProblemId> = ids.into_iter().filter(|id| !known.contains_key(id)).collect();
        missing.sort_unstable();
        missing.dedup();
        self.want(missing.into_iter().map(Want::Problem))
    }

    pub fn rows(&mut self, dataset: DatasetId, places: &[u32]) -> Progress<Vec<&'a DatasetRow>> {
        let view = self.view;
        let missing = places.iter().filter(|place| !view.rows.contains_key(&(dataset, **place)));
        self.want(missing.map(|place| Want::Row(dataset, *place)))?;
        Ok(places.iter().filter_map(|place| view.rows.get(&(dataset, *place))).collect())
    }

    /// The text of a reward.
    pub fn reward(&mut self, digest: Digest) -> Progress<&'a str> {
        let view = self.view;
        let missing = !view.rewards.contains_key(&digest);
        self.want(missing.then_some(Want::Reward(digest)).into_iter())?;
        view.rewards.get(&digest).map(String::as_str).ok_or(Pause::Waiting)
    }

    /// The values of a tag of a dataset's rows.
    pub fn tags(&mut self, dataset: DatasetId, tag: &str) -> Progress<Arc<RowTags>> {
        let (view, key) = (self.view, (dataset, tag.to_owned()));
        let missing = !view.tags.contains_key(&key);
        self.want(missing.then(|| Want::Tag(key.0, key.1.clone())).into_iter())?;
        view.tags.get(&key).cloned().ok_or(Pause::Waiting)
    }

    fn want(&mut self, wants: impl Iterator<Item = Want>) -> Progress<()> {
        let before = self.plan.wants.len();
        self.plan.wants.extend(wants);
        if self.plan.wants.len() == before { Ok(()) } else { Err(Pause::Waiting) }
    }

    fn is_asked(&self, key: &WorkKey) -> bool {
        self.view.work.contains_key(key)
    }

    /// Asks for an item. `population` is that of an update's members, because the update's memory depends on the shape
    /// of their adapters.
    fn ask(&mut self, key: WorkKey, payload: Payload, population: Option<&PopulationConfig>) {
        let mut requirements = Requirements::of(&payload);
        if let (Payload::Update(update), Some(population)) = (&payload, population)
            && update.compute.trainer.is_engine()
        {
            requirements.memory_bytes = update_memory(update, population);
        }
        self.plan.work.push(WorkItem { key, payload, requirements });
    }

    /// The error of a result that does not match its request.
    pub fn misfit(key: &WorkKey, detail: impl Into<String>) -> PlanError {
        PlanError::Result { key: key.clone(), detail: detail.into() }
    }
}

/// Maximum bytes at the peak of an update on a GPU ([`UpdateShape::peak`]), whatever the lengths of its sequences; 0 if the
/// base's sizes are unknown.
fn update_memory(update: &UpdatePayload, population: &PopulationConfig) -> u64 {
    let Some(base) = BaseShape::of_name(&update.base_model.name) else { return 0 };
    let members = update.members.len() as u64;
    let largest = UpdateShape::largest(members, update.micro_batch_tokens, update.compute.dtype, update.recompute);
    let named = update.members.iter().any(|member| member.kl_reference.is_some());
    let shape =
        UpdateShape { references: if named { members } else { 0 }, ..largest.with_any_lengths(shares_prompts(update)) };
    shape.peak(&base, &population.lora).total()
}

/// Whether some samples are of one prompt.
fn shares_prompts(update: &UpdatePayload) -> bool {
    let neighbours = |sequences: &[SequenceRef]| {
        sequences.windows(2).any(|pair| pair[0].rollout == pair[1].rollout && pair[0].request == pair[1].request)
    };
    update.members.iter().any(|member| neighbours(&member.sequences))
}
