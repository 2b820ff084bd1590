//! A rating.

use lyceum_core::recipe::Role;
use serde::{Deserialize, Serialize};

/// A rating (TrueSkill).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Rating {
    /// The role.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub role: Role,
    /// The step after which it was computed.
    pub step: i32,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}
