//! What a run keeps of the problems that it met.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;

use super::{Judged, Pool, ProblemConfig};
use crate::{archive::Archive, id::ExecutionId, recipe::ArchiveInsertionRecord};

/// Fingerprints that are remembered.
const FINGERPRINTS: usize = 4096;

/// What a run keeps of the problems that it met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Experience {
    pub(crate) pool: Pool,
    pub(crate) archive: Archive,
    /// Of the last valid proposals.
    fingerprints: Vec<u32>,
}

impl Experience {
    /// Puts valid problems into the archive by index, with the proposer's reward as the objective. What entered.
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

    /// Which proposals are near duplicates of an earlier one, in the step or among those remembered.
    fn near_duplicates(&self, judged: &[(Judged, f32)]) -> Vec<bool> {
        let mut seen: HashSet<u32> = self.fingerprints.iter().copied().collect();
        let fingerprints = judged.iter().map(|(judged, _)| judged.fingerprint);
        fingerprints
            .map(|fingerprint| fingerprint.is_some_and(|fingerprint| !seen.insert(fingerprint)))
            .collect()
    }

    /// Takes the step's problems into the pool, of which each prompt had `samples` proposals. Answers which proposals are near
    /// duplicates of an earlier one.
    pub(crate) fn remember(
        &mut self,
        run: ExecutionId,
        judged: &[(Judged, f32)],
        problems: &ProblemConfig,
        samples: u32,
    ) -> Vec<bool> {
        let duplicates = self.near_duplicates(judged);
        for (judged, _) in judged.iter().filter(|(judged, _)| judged.enters(problems.pool_filter)) {
            let (request, sample) = (judged.request, judged.sample);
            self.pool
                .add(judged.kind, run, &judged.source, request, sample, samples);
        }
        self.pool.trim(problems.pool_size);
        self.fingerprints
            .extend(judged.iter().filter_map(|(judged, _)| judged.fingerprint));
        let beyond = self.fingerprints.len().saturating_sub(FINGERPRINTS);
        self.fingerprints.drain(..beyond);
        duplicates
    }
}
