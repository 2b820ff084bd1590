//! Births and deaths.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MemberId, VersionId},
    work::WorkKey,
};

/// A birth: the parents' exact versions, the operator and the seed, from which it can be replayed to the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BirthRecord {
    pub child: MemberId,
    /// The work item that made it.
    pub source: WorkKey,
    /// `init`, or an operator of the catalogue.
    pub operator: String,
    /// The values of all its parameters.
    pub parameters: serde_json::Value,
    /// The seed of its draws.
    pub seed: u64,
    /// The parents' versions, in the operator's order.
    pub parents: Vec<VersionId>,
    /// The member that the child replaces.
    pub replaces: Option<MemberId>,
    /// Notes by the operator.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeathRecord {
    /// The member that died.
    pub member: MemberId,
    /// The reason, such as `culled: lower bound 17.2, rank 4 of 4`.
    pub cause: String,
}
