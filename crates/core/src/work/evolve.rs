//! Births in weight space.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{AdapterRef, BaseModel, LoraShape};
use crate::id::VersionId;

/// Make one adapter: fresh, or out of parents by an operator of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvolvePayload {
    /// The shared frozen base.
    pub base_model: BaseModel,
    /// The population's adapter shape.
    pub lora: LoraShape,
    /// `init` for a fresh adapter (A drawn, B zero), or an operator such as `X1`.
    pub operator: String,
    /// Values of the operator's parameters that differ from its defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// The parents' exact versions, as many as the operator takes.
    pub parents: Vec<AdapterRef>,
    /// Seed of every draw that the operator makes.
    pub seed: u64,
    /// What the child's weights will be called.
    pub to: VersionId,
}

/// The child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvolveResult {
    /// Its version.
    pub version: AdapterRef,
    /// What the operator met that a reader of the lineage should know, such as a parent whose update is zero.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}
