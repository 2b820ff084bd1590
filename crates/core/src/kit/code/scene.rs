//! A step of a recipe that plays with code problems.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::overhead::Overhead;
use super::{Groups, Judged, Problem, ProblemConfig};
use crate::archive::{Archive, Centroids};
use crate::contract::{ArchiveInsertionRecord, PlanError, ProblemRecord, RunState, StepView, WARM_UP};
use crate::duplicate::fingerprint;
use crate::id::{ExecutionId, ProblemId};
use crate::kit::{Draft, Member, Pool, Progress};
use crate::prompt::{PromptError, PromptSet};

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

/// Everything that is derived only from the config.
pub(super) struct Setting {
    pub(super) prompts: PromptSet,
    pub(super) overhead: Overhead,
    pub(super) centroids: Arc<Centroids>,
    /// Fingerprints of the programs in the prompts' own examples.
    pub(super) examples: Vec<u32>,
}

impl Setting {
    fn of(groups: &Groups<'_>) -> Result<Self, PromptError> {
        let prompts = PromptSet::compile(groups.prompts)?;
        let examples = prompts.example_programs();
        Ok(Self {
            overhead: groups.overhead(&prompts)?,
            centroids: groups.archive.centroids(),
            examples: examples.iter().map(|program| fingerprint(program)).collect(),
            prompts,
        })
    }
}

impl<'a> Scene<'a> {
    /// The scene of a step with these members.
    pub(crate) fn new(
        run: &'a RunState,
        view: &'a StepView,
        groups: Groups<'a>,
        members: Vec<Member>,
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

    /// Puts valid problems into the archive; returns how many entered. None do in a warm-up, whose rewards say nothing of
    /// their difficulty.
    pub(crate) fn illuminate(&mut self, experience: &mut Experience, judged: &[(Judged, f32)]) -> usize {
        if self.draft.run.stage == WARM_UP {
            return 0;
        }
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

/// Number of fingerprints remembered.
const FINGERPRINTS: usize = 4096;

/// What a run remembers of the problems it has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Experience {
    pub(crate) pool: Pool,
    pub(crate) archive: Archive,
    /// Fingerprints of the latest valid proposals.
    fingerprints: Vec<u32>,
    /// Valid proposals so far.
    #[serde(default)]
    valid: u64,
}

/// The memory of a recipe of code problems, as far as it is about experience.
#[derive(Deserialize)]
struct Memory {
    experience: Experienced,
}

#[derive(Deserialize)]
struct Experienced {
    pool: Pool,
}

impl Pool {
    /// The pool in the memory of a run that plays with code problems.
    ///
    /// # Errors
    /// A memory without one.
    pub fn of_state(state: &RunState) -> Result<Self, PlanError> {
        Ok(state.memory::<Memory>()?.experience.pool)
    }
}

impl Experience {
    /// Cells of the archive with a problem, per valid proposal so far; NaN without any. Runs that propose more fill more
    /// cells, so that coverage alone compares their sizes.
    pub(crate) fn cells_per_problem(&self) -> f64 {
        match self.valid {
            0 => f64::NAN,
            valid => self.archive.filled() as f64 / valid as f64,
        }
    }

    /// Inserts valid problems into the archive by index, with the proposer's reward as the objective. Returns the
    /// insertions.
    pub(crate) fn illuminate(&mut self, judged: &[(Judged, f32)]) -> Vec<ArchiveInsertionRecord> {
        let entered = judged.iter().filter_map(|(judged, reward)| {
            let cell = judged.cell?;
            Some(ArchiveInsertionRecord {
                cell,
                problem: judged.id,
                status: self.archive.insert(cell, *reward)?,
                objective: *reward,
            })
        });
        entered.collect()
    }

    /// Marks proposals that are near duplicates of an earlier one, in this step or remembered.
    fn near_duplicates(&self, judged: &[(Judged, f32)]) -> Vec<bool> {
        let mut seen: HashSet<u32> = self.fingerprints.iter().copied().collect();
        let fingerprints = judged.iter().map(|(judged, _)| judged.fingerprint);
        fingerprints.map(|fingerprint| fingerprint.is_some_and(|fingerprint| !seen.insert(fingerprint))).collect()
    }

    /// Adds the step's problems to the pool, given `samples` proposals per prompt. Marks proposals that are near
    /// duplicates of an earlier one.
    pub(crate) fn remember(
        &mut self,
        run: ExecutionId,
        judged: &[(Judged, f32)],
        problems: &ProblemConfig,
        samples: u32,
    ) -> Vec<bool> {
        let duplicates = self.near_duplicates(judged);
        self.valid += judged.iter().filter(|(judged, _)| judged.problem.is_some()).count() as u64;
        for (judged, _) in judged.iter().filter(|(judged, _)| judged.enters(problems.pool_filter)) {
            let sample = &judged.sample;
            self.pool.add(judged.kind, run, &sample.source, sample.request, sample.index, samples);
        }
        self.pool.trim(problems.pool_size);
        self.fingerprints.extend(judged.iter().filter_map(|(judged, _)| judged.fingerprint));
        let beyond = self.fingerprints.len().saturating_sub(FINGERPRINTS);
        self.fingerprints.drain(..beyond);
        duplicates
    }
}
