//! What entered the archive.

use serde::{Deserialize, Serialize};

use crate::id::ProblemId;

/// What an insertion did to its cell. The words are those of pyribs' `AddStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertionStatus {
    /// The cell was empty.
    New,
    /// The problem is better than the cell's elite.
    Improve,
}

impl InsertionStatus {
    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Improve => "improve",
        }
    }
}

/// A problem that entered the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveInsertionRecord {
    /// The cell.
    pub cell: u32,
    /// The problem, now the cell's elite.
    pub problem: ProblemId,
    /// What it did.
    pub status: InsertionStatus,
    /// By what elites are compared.
    pub objective: f32,
}
