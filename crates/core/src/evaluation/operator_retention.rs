//! Evaluations of type `operator_retention`.

use serde::{Deserialize, Serialize};

use crate::id::{ExecutionId, MemberId};

/// Retrains a child of each operator and compares it with its parents (PopuLoRA, section 4.6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorRetentionSpec {
    /// The run.
    pub run: ExecutionId,
    /// The parents.
    pub parents: Vec<MemberId>,
    /// Operators of the catalogue.
    pub operators: Vec<String>,
}
