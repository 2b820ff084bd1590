//! Proposed problems and their outcomes.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MemberId, ProblemId, VersionId},
    verify::{ProblemKind, Status},
    work::WorkKey,
};

/// A proposed problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemRecord {
    pub id: ProblemId,
    /// Its index within its step.
    pub index: u32,
    /// The proposer and the version of its weights; `None` for a seed problem.
    pub proposer: Option<(MemberId, VersionId)>,
    /// The work item it came from; `None` for a seed problem.
    pub source: Option<WorkKey>,
    pub kind: ProblemKind,
    /// The prompt given to the proposer.
    pub prompt: String,
    /// The proposer's response, unparsed.
    pub proposal: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// Why it is or is not valid.
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// The program, if one was found.
    pub program: Option<String>,
    /// The shown and the hidden values, by type: inputs, outputs and message.
    pub values: serde_json::Value,
    /// The four structural metrics (PopuLoRA, appendix 10): AST depth, cyclomatic complexity, lines, variables.
    pub descriptor: Option<[f32; 4]>,
    /// Its cell in the archive.
    pub cell: Option<u32>,
    /// The problems it is derived from.
    pub parents: Vec<(ProblemId, ParentRelation)>,
}

/// The role of an earlier problem for a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ParentRelation {
    /// Shown to the proposer as an example to differ from (Absolute Zero).
    Reference,
    /// The hard problem a lemma was made for (GASP).
    Goalpost,
    /// The lemma a lift was made from (GASP).
    Lemma,
    /// The problem that this one asks in another form: one input or output of its program (GASP).
    Original,
}

crate::named!(ParentRelation, "a relation to a parent");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemOutcomeRecord {
    pub problem: ProblemId,
    /// Share of attempts that solved it; `None` if there were none.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: u32,
    /// Its proposer's reward.
    pub reward: f32,
    /// The parts of the reward, by name.
    pub reward_parts: serde_json::Value,
}
