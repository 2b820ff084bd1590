//! What was proposed, and how it fared.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MemberId, ProblemId, VersionId},
    verify::{ProblemKind, Status},
    work::WorkKey,
};

/// What was proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemRecord {
    /// The problem.
    pub id: ProblemId,
    /// Its place within its step, from 0.
    pub index: u32,
    /// Who proposed it, by which weights; none for a seed problem.
    pub proposer: Option<(MemberId, VersionId)>,
    /// The item of work that it came from; none for a seed problem.
    pub source: Option<WorkKey>,
    /// What is asked of a solver.
    pub kind: ProblemKind,
    /// The prompt that the proposer was shown.
    pub prompt: String,
    /// What the proposer answered, unparsed.
    pub proposal: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// Why it may or may not.
    pub status: Status,
    /// The same, said to a person.
    pub reason: String,
    /// The program, where one was found.
    pub program: Option<String>,
    /// What the solver is shown and what stays hidden, by its type: inputs, outputs and message.
    pub values: serde_json::Value,
    /// The four structural metrics (PopuLoRA, appendix 10): AST depth, cyclomatic complexity, lines, variables.
    pub descriptor: Option<[f32; 4]>,
    /// The cell of the archive that it falls into.
    pub cell: Option<u32>,
    /// What it came from.
    pub parents: Vec<(ProblemId, ParentRelation)>,
}

/// What an earlier problem is to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentRelation {
    /// Shown to the proposer as an example to differ from (Absolute Zero).
    Reference,
    /// The hard problem that a lemma was made for (GASP).
    Goalpost,
    /// The lemma that a lift was made from (GASP).
    Lemma,
}

impl ParentRelation {
    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Goalpost => "goalpost",
            Self::Lemma => "lemma",
        }
    }
}

/// How a problem fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemOutcomeRecord {
    /// The problem.
    pub problem: ProblemId,
    /// Share of the attempts that solved it; none where it was not attempted.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: u32,
    /// What its proposer got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    pub reward_parts: serde_json::Value,
}
