//! A step of a recipe that plays with code problems.

use std::{collections::BTreeMap, sync::Arc};

use super::{Experience, Groups, Judged, Problem, overhead::Overhead};
use crate::{
    archive::Centroids,
    contract::{PlanError, ProblemRecord, RunState, StepView},
    id::ProblemId,
    kit::{Draft, Living, Progress},
    prompt::{PromptError, PromptSet},
};

/// A step being planned, with programs with inputs and outputs as its problems.
pub(crate) struct Scene<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) material: Material<'a>,
}

/// The material of proposals and attempts: prompts, earlier problems, and the archive's map.
pub(crate) struct Material<'a> {
    view: &'a StepView,
    pub(super) groups: Groups<'a>,
    pub(super) setting: Arc<Setting>,
    /// Seed problems, in the step that enters them.
    pub(super) seeds: Arc<BTreeMap<ProblemId, ProblemRecord>>,
}

/// Everything derived from the config alone.
pub(super) struct Setting {
    pub(super) prompts: PromptSet,
    pub(super) overhead: Overhead,
    pub(super) centroids: Arc<Centroids>,
}

impl Setting {
    fn of(groups: &Groups<'_>) -> Result<Self, PromptError> {
        let prompts = PromptSet::compile(groups.prompts)?;
        Ok(Self {
            overhead: groups.overhead(&prompts)?,
            prompts,
            centroids: groups.archive.centroids(),
        })
    }
}

impl<'a> Scene<'a> {
    /// The scene of a step with these members.
    pub(crate) fn new(
        run: &'a RunState,
        view: &'a StepView,
        groups: Groups<'a>,
        members: Vec<Living>,
    ) -> Result<Self, PlanError> {
        Ok(Self {
            draft: Draft::new(run, view, members),
            material: Material {
                view,
                groups,
                setting: view.once("setting", || Setting::of(&groups).map_err(prompt_error))?,
                seeds: Arc::default(),
            },
        })
    }

    /// Puts valid problems into the archive; returns how many entered.
    pub(crate) fn illuminate(&mut self, experience: &mut Experience, judged: &[(Judged, f32)]) -> usize {
        let insertions = experience.illuminate(judged);
        let entered = insertions.len();
        self.draft.plan.records.insertions.extend(insertions);
        entered
    }

    /// Waits until every problem of `ids` can be read.
    pub(crate) fn readable(&mut self, ids: impl Iterator<Item = ProblemId>) -> Progress<()> {
        let seeds = &self.material.seeds;
        self.draft.problems(ids.filter(|id| !seeds.contains_key(id)))
    }
}

impl Material<'_> {
    /// An earlier problem, if it can be read.
    pub(crate) fn earlier(&self, id: ProblemId) -> Option<Problem> {
        let record = self.view.problems.get(&id).or_else(|| self.seeds.get(&id));
        record.and_then(Problem::of)
    }
}

/// A template failed after it had passed its checks.
pub(super) fn prompt_error(error: PromptError) -> PlanError {
    PlanError::Other(error.to_string())
}
