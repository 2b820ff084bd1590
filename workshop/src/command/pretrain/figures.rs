//! The results of an evaluation, as in `evaluation.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::training::Totals;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Evaluation {
    /// The cost of training the model.
    pub(super) training: Option<Totals>,
    /// Total number of weights.
    pub(super) parameters: usize,
    /// By type and by whether the prompt contained references.
    pub(super) proposals: Vec<Proposals>,
    /// By type: answers to the model's own valid proposals.
    pub(super) own: BTreeMap<String, OwnProblems>,
    /// By type: answers to held-out problems, one band for each level.
    pub(super) held_out: BTreeMap<String, Vec<Band>>,
    /// By task: stepping stones; empty if the base does not write them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) stones: BTreeMap<String, Stones>,
    /// By type: answers with and without steps; empty if `evaluation.ways` is 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) ways: BTreeMap<String, Ways>,
}

/// Proposals of one type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Proposals {
    pub(super) problem: String,
    pub(super) references: usize,
    pub(super) asked: usize,
    /// Share with the right format.
    pub(super) well_formed: f64,
    /// Share accepted by the verifier.
    pub(super) valid: f64,
    /// Share of the valid ones that differ from all others: by program, and for code_f also by inputs and message.
    pub(super) distinct: f64,
    /// Share of the valid ones that occur verbatim in the training programs: by program, and for code_f by inputs.
    pub(super) verbatim: f64,
    /// Means over the valid ones.
    pub(super) ast_depth: f64,
    pub(super) loc: f64,
    /// How often each fault occurred.
    pub(super) faults: BTreeMap<String, usize>,
}

/// Several answers to each of the model's own problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OwnProblems {
    pub(super) problems: usize,
    pub(super) samples: usize,
    /// Mean pass rate.
    pub(super) passed: f64,
    /// Shares of problems by the number of correct answers.
    pub(super) never: f64,
    pub(super) sometimes: f64,
    pub(super) always: f64,
}

/// Answers to the held-out problems of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Band {
    pub(super) level: u8,
    pub(super) problems: usize,
    /// Share of correct answers, one per problem.
    pub(super) passed: f64,
    /// Share of answers with the right format.
    pub(super) well_formed: f64,
    /// Scores of guessers, which answer without understanding.
    pub(super) guessers: BTreeMap<String, f64>,
}

/// Stepping stones of one task, with ten attempts at each valid one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stones {
    pub(super) asked: usize,
    /// Share with the right format.
    pub(super) well_formed: f64,
    /// Share accepted by the verifier.
    pub(super) valid: f64,
    /// Mean pass rate of the valid ones.
    pub(super) passed: f64,
    /// Share of all that GASP would accept for their pass rate: lemmas from 3 to 7 of 10, lifts from 1 to 5.
    pub(super) in_band: f64,
}

/// Answers to problems for development, as in `ways.json`. Shares are from 0 to 1, levels from 1 to 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ways {
    pub(super) problems: usize,
    /// Answers to each at temperature 1.
    pub(super) samples: usize,
    pub(super) greedy: f64,
    pub(super) greedy_by_level: [f64; 5],
    /// Share of greedy answers that begin with steps.
    pub(super) greedy_traced: f64,
    pub(super) greedy_tokens: f64,
    pub(super) sampled: f64,
    pub(super) sampled_by_level: [f64; 5],
    /// Share of problems that at least one sampled answer solves.
    pub(super) solved_by_any: f64,
    /// Share of sampled answers that begin with steps.
    pub(super) traced: f64,
    /// Share of those that are correct.
    pub(super) traced_passed: f64,
    pub(super) traced_passed_by_level: [f64; 5],
    /// Share of the other sampled answers that are correct.
    pub(super) direct_passed: f64,
    /// Mean number of tokens of a sampled answer.
    pub(super) tokens: f64,
    /// Share of sampled answers without the right format.
    pub(super) malformed: f64,
}

/// `part / of`, or 0 if `of` is 0.
pub(super) fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
