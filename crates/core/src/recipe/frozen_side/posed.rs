//! The fresh problems of a teacher version.

use std::collections::HashMap;

use crate::recipe::{
    PlanError,
    code::{Judged, Problem},
};

/// The proposals of a teacher version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Posed {
    /// Prompts so far, with one proposal each.
    pub(super) asked: u32,
    /// Valid proposals.
    pub(super) valid: u32,
    /// The first valid problems, in the order of their prompts.
    pub(super) problems: Vec<Problem>,
    /// For each of `problems`, the index of the first that is the same.
    pub(super) clusters: Vec<usize>,
    known: HashMap<String, usize>,
}

impl Posed {
    /// Counts a proposal, and keeps its problem if it is one of the first `wanted` valid ones.
    pub(super) fn add(&mut self, judged: &Judged, wanted: u32) -> Result<(), PlanError> {
        let Some(problem) = &judged.problem else { return Ok(()) };
        self.valid += 1;
        let place = self.problems.len();
        if place < wanted as usize {
            let content = serde_json::to_string(&(problem.kind, &problem.program, &problem.values))?;
            self.clusters.push(*self.known.entry(content).or_insert(place));
            self.problems.push(problem.clone());
        }
        Ok(())
    }

    /// Different problems among those kept.
    pub(super) fn distinct(&self) -> u32 {
        u32::try_from(self.known.len()).unwrap_or(u32::MAX)
    }
}
