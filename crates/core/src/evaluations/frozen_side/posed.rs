//! The fresh problems of a teacher version.

use std::collections::{HashMap, HashSet};

use crate::{
    contract::PlanError,
    kit::code::{Judged, Problem},
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
    /// The cluster of each of `problems`.
    pub(super) clusters: Vec<usize>,
}

/// Clusters of identical problems, whichever teachers posed them.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters(HashMap<String, usize>);

impl Clusters {
    /// The cluster of a problem.
    pub(super) fn of(&mut self, problem: &Problem) -> Result<usize, PlanError> {
        let content = serde_json::to_string(&(problem.kind, &problem.program, &problem.values))?;
        let next = self.0.len();
        Ok(*self.0.entry(content).or_insert(next))
    }
}

impl Posed {
    /// Counts a proposal, and keeps its problem if it is one of the first `wanted` valid ones.
    pub(super) fn add(&mut self, judged: &Judged, wanted: u32, clusters: &mut Clusters) -> Result<(), PlanError> {
        let Some(problem) = &judged.problem else { return Ok(()) };
        self.valid += 1;
        if self.problems.len() < wanted as usize {
            self.clusters.push(clusters.of(problem)?);
            self.problems.push(problem.clone());
        }
        Ok(())
    }

    /// Different problems among those kept.
    pub(super) fn distinct(&self) -> u32 {
        let distinct: HashSet<&usize> = self.clusters.iter().collect();
        u32::try_from(distinct.len()).unwrap_or(u32::MAX)
    }
}
