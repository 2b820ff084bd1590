//! Births and deaths.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MemberId, VersionId},
    work::WorkKey,
};

/// A birth: parents' exact versions, operator and seed, from which it can be replayed to the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BirthRecord {
    /// The child.
    pub child: MemberId,
    /// The item of work that made it.
    pub source: WorkKey,
    /// `init`, or an operator of the catalogue.
    pub operator: String,
    /// All values of its parameters.
    pub parameters: serde_json::Value,
    /// The seed of its draws.
    pub seed: u64,
    /// The parents' versions, in the operator's order.
    pub parents: Vec<VersionId>,
    /// Whose place the child takes.
    pub replaces: Option<MemberId>,
    /// What the operator met.
    pub notes: Vec<String>,
}

/// A death.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeathRecord {
    /// Who died.
    pub member: MemberId,
    /// Why, such as `culled: lower bound 17.2, rank 4 of 4`.
    pub cause: String,
}
