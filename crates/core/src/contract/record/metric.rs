//! Metrics of a step.

use serde::{Deserialize, Serialize};

use crate::id::MemberId;

/// Metrics of a step, of one member or of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// The member; `None` for the run.
    pub member: Option<MemberId>,
    /// Values in the order of [`Recipe::metrics`](crate::contract::Recipe::metrics); NaN if there is no value.
    pub values: Vec<f64>,
}
