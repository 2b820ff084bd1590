//! Insertions into the archive.

use serde::{Deserialize, Serialize};

use crate::id::ProblemId;

/// The effect of an insertion on its cell. Names are those of pyribs' `AddStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InsertionStatus {
    /// The cell was empty.
    New,
    /// The problem is better than the cell's elite.
    Improve,
}

crate::named!(InsertionStatus, "an effect of an insertion");

/// A problem's insertion into the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveInsertionRecord {
    pub cell: u32,
    /// The problem, now the cell's elite.
    pub problem: ProblemId,
    /// Its effect.
    pub status: InsertionStatus,
    /// The value by which elites are compared.
    pub objective: f32,
}
