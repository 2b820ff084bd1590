//! What a run remembers of the problems it has seen.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;

use super::{Judged, ProblemConfig};
use crate::{
    archive::Archive,
    contract::{ArchiveInsertionRecord, PlanError, RunState},
    id::ExecutionId,
    kit::Pool,
};

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
        fingerprints
            .map(|fingerprint| fingerprint.is_some_and(|fingerprint| !seen.insert(fingerprint)))
            .collect()
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
            self.pool
                .add(judged.kind, run, &sample.source, sample.request, sample.index, samples);
        }
        self.pool.trim(problems.pool_size);
        self.fingerprints
            .extend(judged.iter().filter_map(|(judged, _)| judged.fingerprint));
        let beyond = self.fingerprints.len().saturating_sub(FINGERPRINTS);
        self.fingerprints.drain(..beyond);
        duplicates
    }
}
