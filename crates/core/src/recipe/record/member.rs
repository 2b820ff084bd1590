//! Who plays: populations, members and their weights.

use serde::{Deserialize, Serialize};

use crate::{
    artifact::Digest,
    id::{MemberId, PopulationId, VersionId},
    work::{BaseModel, LoraShape},
};

/// Members of a run that share a base model and an adapter shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationRecord {
    /// The population.
    pub id: PopulationId,
    /// Its name in the config.
    pub name: String,
    /// Its frozen base.
    pub base_model: BaseModel,
    /// The shape of its adapters.
    pub lora: LoraShape,
}

/// What a member plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Proposes to students (PopuLoRA).
    Teacher,
    /// Solves what teachers propose (PopuLoRA, GASP).
    Student,
    /// Proposes (Absolute Zero, R-Zero).
    Proposer,
    /// Solves (Absolute Zero, R-Zero, SAGE).
    Solver,
    /// Proposes (SAGE).
    Challenger,
    /// Plans a solution (SAGE).
    Planner,
    /// Judges a proposal or a plan (SAGE).
    Critic,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 7] = [
        Self::Teacher,
        Self::Student,
        Self::Proposer,
        Self::Solver,
        Self::Challenger,
        Self::Planner,
        Self::Critic,
    ];

    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Teacher => "teacher",
            Self::Student => "student",
            Self::Proposer => "proposer",
            Self::Solver => "solver",
            Self::Challenger => "challenger",
            Self::Planner => "planner",
            Self::Critic => "critic",
        }
    }
}

/// One adapter of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// The member.
    pub id: MemberId,
    /// Its population.
    pub population: PopulationId,
    /// Its name, such as `teacher-2`.
    pub name: String,
    /// What it plays.
    pub roles: Vec<Role>,
}

/// Weights of a member after a birth or an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub id: VersionId,
    /// The member.
    pub member: MemberId,
    /// 0 at birth, one more with each update.
    pub ordinal: u32,
    /// Its PEFT folder.
    pub artifact: Digest,
    /// Its optimizer state, where it has any.
    pub optimizer: Option<Digest>,
}
