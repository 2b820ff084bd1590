//! The geometry of adapters' updates ΔW = s B A, all modules as one vector (`docs/METRICS.md`).

use serde::{Deserialize, Serialize};

use crate::id::VersionId;

/// The geometry of the adapters of one population.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    /// The versions, in the order asked for.
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
            pairs: self
                .pairs
                .iter()
                .filter(|pair| pair.first == of.version)
                .copied()
                .collect(),
        })
    }
}

/// A version by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionGeometry {
    /// The version.
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
    /// One version.
    pub first: VersionId,
    /// The other.
    pub second: VersionId,
    /// ⟨ΔW₁, ΔW₂⟩ / (‖ΔW₁‖ ‖ΔW₂‖); `None` if an update is zero.
    pub cosine: Option<f64>,
    /// ‖ΔW₁ − ΔW₂‖, Frobenius.
    pub distance: f64,
}
