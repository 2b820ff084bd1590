//! Counting proposals.

use std::collections::{BTreeMap, HashSet};

use lyceum_verifier::{ProblemKind, Verdict};

use super::figures::{Proposals, share};

/// Counts of proposals of one type.
#[derive(Default)]
pub(super) struct Tally {
    well_formed: usize,
    valid: usize,
    known: usize,
    seen: HashSet<String>,
    ast_depth: u32,
    loc: u32,
    faults: BTreeMap<String, usize>,
}

impl Tally {
    pub(super) fn malformed(&mut self) {
        *self.faults.entry("format".to_owned()).or_default() += 1;
    }

    /// Counts a verdict; returns whether the proposal is valid.
    pub(super) fn judged(&mut self, verdict: &Verdict, key: String, known: bool) -> bool {
        self.well_formed += 1;
        if verdict.valid != Some(true) {
            *self.faults.entry(verdict.status.name().to_owned()).or_default() += 1;
            return false;
        }
        self.valid += 1;
        self.known += usize::from(known);
        self.seen.insert(key);
        if let Some(complexity) = &verdict.complexity {
            self.ast_depth += complexity.ast_depth;
            self.loc += complexity.loc;
        }
        true
    }

    pub(super) fn figures(self, problem: ProblemKind, references: usize, asked: usize) -> Proposals {
        let mean = |sum: u32| share(sum as usize, self.valid);
        Proposals {
            problem: problem.name().to_owned(),
            references,
            asked,
            well_formed: share(self.well_formed, asked),
            valid: share(self.valid, asked),
            distinct: share(self.seen.len(), self.valid),
            verbatim: share(self.known, self.valid),
            ast_depth: mean(self.ast_depth),
            loc: mean(self.loc),
            faults: self.faults,
        }
    }
}
