//! What an evaluation found, as it stands in `evaluation.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::training::Totals;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Evaluation {
    /// What the model cost.
    pub(super) training: Option<Totals>,
    /// Weights in all.
    pub(super) parameters: usize,
    /// By type, and whether references stood in the prompt.
    pub(super) proposals: Vec<Proposals>,
    /// By type: answers to the model's own valid proposals.
    pub(super) own: BTreeMap<String, OwnProblems>,
    /// By type: answers to held-out problems, a band for each level.
    pub(super) held_out: BTreeMap<String, Vec<Band>>,
}

/// Proposals of one type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Proposals {
    pub(super) problem: String,
    pub(super) references: usize,
    pub(super) asked: usize,
    /// Share that has the format.
    pub(super) well_formed: f64,
    /// Share that the verifier accepts.
    pub(super) valid: f64,
    /// Share of the valid ones that differ from all others of them: by program, and for code_f by inputs and message
    /// too.
    pub(super) distinct: f64,
    /// Share of the valid ones that stand in the training programs as they are: by program, and for code_f by inputs.
    pub(super) verbatim: f64,
    /// Means over the valid ones.
    pub(super) ast_depth: f64,
    pub(super) loc: f64,
    /// How often each fault was met.
    pub(super) faults: BTreeMap<String, usize>,
}

/// Several answers to each of the model's own problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OwnProblems {
    pub(super) problems: usize,
    pub(super) samples: usize,
    /// Mean pass rate.
    pub(super) passed: f64,
    /// Shares of problems by how many of the answers were right.
    pub(super) never: f64,
    pub(super) sometimes: f64,
    pub(super) always: f64,
}

/// Answers to the held-out problems of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Band {
    pub(super) level: u8,
    pub(super) problems: usize,
    /// Share that was right, one answer each.
    pub(super) passed: f64,
    /// Share of answers in the format.
    pub(super) well_formed: f64,
    /// What answers that need no understanding get.
    pub(super) guessers: BTreeMap<String, f64>,
}

/// A share, 0 of nothing.
pub(super) fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
