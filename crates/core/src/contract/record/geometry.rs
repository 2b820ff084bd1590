//! Geometry of adapters.

use serde::{Deserialize, Serialize};

use crate::{
    id::MemberId,
    work::{PairGeometry, VersionGeometry},
};

/// A version's geometry at the end of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeometryRecord {
    /// The member.
    pub member: MemberId,
    /// The version by itself.
    #[serde(flatten)]
    pub of: VersionGeometry,
    /// Its pairs with other versions, each listed with one of the two.
    pub pairs: Vec<PairGeometry>,
}
