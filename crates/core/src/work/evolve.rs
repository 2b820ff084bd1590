//! Births in weight space, and the geometry of adapters.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{AdapterRef, BaseModel, LoraShape};
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

// The geometry of adapters' updates ΔW = s B A, all modules as one vector (`docs/METRICS.md`).

/// The geometry of the adapters of one population.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    /// The versions, in the order of the request.
    pub versions: Vec<VersionGeometry>,
    /// Each pair of them once, the earlier one first.
    pub pairs: Vec<PairGeometry>,
}

/// A version of an update, with the others of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberGeometry {
    /// The version by itself.
    #[serde(flatten)]
    pub of: VersionGeometry,
    /// Its pairs with versions that come later.
    pub pairs: Vec<PairGeometry>,
}

impl Geometry {
    /// Each version with its pairs.
    pub fn by_version(&self) -> impl Iterator<Item = MemberGeometry> + '_ {
        self.versions.iter().map(|of| MemberGeometry {
            of: *of,
            pairs: self.pairs.iter().filter(|pair| pair.first == of.version).copied().collect(),
        })
    }
}

/// A version by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionGeometry {
    pub version: VersionId,
    /// ‖ΔW‖, Frobenius.
    pub norm: f64,
    /// exp of the entropy of the singular values' shares (Roy and Vetterli 2007), mean over the modules with an update;
    /// `None` if no module has one.
    pub effective_rank: Option<f64>,
}

/// Two versions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairGeometry {
    pub first: VersionId,
    /// The other.
    pub second: VersionId,
    /// ⟨ΔW₁, ΔW₂⟩ / (‖ΔW₁‖ ‖ΔW₂‖); `None` if an update is zero.
    pub cosine: Option<f64>,
    /// ‖ΔW₁ − ΔW₂‖, Frobenius.
    pub distance: f64,
}
