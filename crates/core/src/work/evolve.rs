//! Births in weight space.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{AdapterRef, BaseModel, Geometry, LoraShape};
use crate::id::VersionId;

/// Make one adapter: a fresh one, or one from parents by an operator of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvolvePayload {
    /// The shared frozen base.
    pub base_model: BaseModel,
    /// The population's adapter shape.
    pub lora: LoraShape,
    /// `init` for a fresh adapter (random A, zero B), or an operator such as `X1`.
    pub operator: String,
    /// Values of the operator's parameters that differ from its defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// The parents' exact versions, as many as the operator takes.
    pub parents: Vec<AdapterRef>,
    /// Seed of all the operator's draws.
    pub seed: u64,
    /// The identifier of the child's version.
    pub to: VersionId,
    /// Versions whose geometry is measured with the child's; if there are none, nothing is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<AdapterRef>,
}

/// The child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvolveResult {
    /// Its version.
    pub version: AdapterRef,
    /// Notes by the operator for readers of the lineage, such as a parent whose update is zero.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The geometry of the child, which comes first, and of the measured versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<Geometry>,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}
