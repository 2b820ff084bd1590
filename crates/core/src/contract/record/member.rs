//! Populations, members and their weights.

use serde::{Deserialize, Serialize};

use crate::{
    artifact::Digest,
    contract::Role,
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

/// One adapter of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// The member.
    pub id: MemberId,
    /// Its population.
    pub population: PopulationId,
    /// Its name, such as `teacher-2`.
    pub name: String,
    /// Its roles.
    pub roles: Vec<Role>,
}

/// The weights of a member after a birth or an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub id: VersionId,
    /// The member.
    pub member: MemberId,
    /// 0 at birth, incremented by each update.
    pub ordinal: u32,
    /// Its PEFT folder.
    pub artifact: Digest,
    /// Its optimizer state, if it has one.
    pub optimizer: Option<Digest>,
    /// The member's own learning rate; `None` for the optimizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
}
