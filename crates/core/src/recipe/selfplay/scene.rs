//! What every part of a step works with.

use std::{collections::BTreeMap, sync::Arc};

use super::{Groups, Living, learn::GRADIENT, overhead::Overhead};
use crate::{
    archive::Centroids,
    config::PopulationConfig,
    id::ProblemId,
    memory::{BaseShape, UpdateShape},
    prompt::{PromptError, PromptSet},
    recipe::{Plan, PlanError, ProblemRecord, RunState, StepView, WorkItem},
    seed::derive,
    work::{Payload, Requirements, UpdatePayload, WorkKey, WorkKind},
};

/// A step in the making: what is known, and the plan so far.
pub(crate) struct Scene<'a> {
    pub(crate) run: &'a RunState,
    pub(crate) view: &'a StepView,
    pub(crate) groups: Groups<'a>,
    pub(crate) plan: Plan,
    pub(crate) prompts: PromptSet,
    pub(crate) overhead: Overhead,
    pub(crate) centroids: Arc<Centroids>,
    pub(crate) members: Vec<Living>,
    /// Seed problems, in the step that enters them.
    pub(crate) seeds: BTreeMap<ProblemId, ProblemRecord>,
    pub(crate) population_name: &'a str,
    pub(crate) population: &'a PopulationConfig,
    /// Whether updates were asked for, and with them every row of proposals and attempts was written.
    pub(crate) settled: bool,
}

impl<'a> Scene<'a> {
    /// The scene of a step with these members.
    pub(crate) fn new(
        run: &'a RunState,
        view: &'a StepView,
        groups: Groups<'a>,
        members: Vec<Living>,
    ) -> Result<Self, PlanError> {
        let (population_name, population) = run
            .config
            .populations
            .first_key_value()
            .ok_or_else(|| PlanError::Other("there is no population".to_owned()))?;
        let prompts = PromptSet::compile(groups.prompts).map_err(|error| PlanError::Other(error.to_string()))?;
        Ok(Self {
            run,
            view,
            groups,
            plan: Plan::default(),
            overhead: Self::overhead(&prompts, &groups).map_err(|error| PlanError::Other(error.to_string()))?,
            prompts,
            centroids: groups.archive.centroids(),
            members,
            seeds: BTreeMap::new(),
            population_name,
            population,
            settled: ["update", GRADIENT]
                .iter()
                .any(|phase| view.work.contains_key(&WorkKey::new(run.step, *phase))),
        })
    }

    /// The sizes of the prompts that a config asks for.
    pub(crate) fn overhead_of(groups: &Groups<'_>) -> Result<Overhead, PromptError> {
        Self::overhead(&PromptSet::compile(groups.prompts)?, groups)
    }

    fn overhead(prompts: &PromptSet, groups: &Groups<'_>) -> Result<Overhead, PromptError> {
        Overhead::measure(prompts, &groups.problems.types, groups.problems.num_inputs as usize)
    }

    /// The place of a chunk of a phase of this step.
    pub(crate) fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }

    /// Whether the item at `key` was asked for before.
    pub(crate) fn asked(&self, key: &WorkKey) -> bool {
        self.view.work.contains_key(key)
    }

    /// Asks for an item. All but verification needs the base model, and an update of a base whose sizes are known the memory of
    /// its peak.
    pub(crate) fn ask(&mut self, key: WorkKey, payload: Payload) {
        let base = &self.population.base_model.name;
        let requirements = Requirements {
            base_model: (payload.kind() != WorkKind::Verify).then(|| base.clone()),
            memory_bytes: match &payload {
                Payload::Update(update) => self.update_memory(update),
                _ => 0,
            },
        };
        self.plan.work.push(WorkItem {
            key,
            payload,
            requirements,
        });
    }

    /// Bytes at the peak of an update, at most ([`UpdateShape::peak`]); 0 where the base's sizes are not known.
    fn update_memory(&self, update: &UpdatePayload) -> u64 {
        let Some(base) = BaseShape::of_name(&update.base_model.name) else {
            return 0;
        };
        let members = update.members.len() as u64;
        let shape = UpdateShape::largest(
            members,
            update.micro_batch_tokens,
            update.compute.dtype,
            update.recompute,
        );
        shape.peak(&base, &self.population.lora).total()
    }

    /// The seed of `item` at `key`.
    pub(crate) fn seed(&self, key: &WorkKey, item: u32) -> u64 {
        derive(self.run.config.seed, &key.to_string(), u64::from(item))
    }

    /// A result that does not fit what was asked.
    pub(crate) fn misfit(key: &WorkKey, detail: impl Into<String>) -> PlanError {
        PlanError::Result {
            key: key.clone(),
            detail: detail.into(),
        }
    }

    /// A template that stopped to work after it was checked.
    pub(crate) fn prompt_error(error: PromptError) -> PlanError {
        PlanError::Other(error.to_string())
    }
}
