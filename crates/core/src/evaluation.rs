//! Planned work on frozen versions that changes no run.

use serde::{Deserialize, Serialize};

use crate::id::{AttemptId, ExecutionId, MemberId, VersionId};

/// What an evaluation measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum EvaluationSpec {
    /// Answers of versions to suites.
    Benchmark {
        /// Suites by name.
        suites: Vec<String>,
        /// The versions; empty measures the base alone.
        versions: Vec<VersionId>,
        /// Samples a row.
        #[schemars(range(min = 1))]
        n: u32,
    },
    /// Teachers against students that have not met, on problems made for the purpose.
    CrossPlay {
        /// The run.
        run: ExecutionId,
        /// Whose versions are those that this step starts from.
        step: u32,
        /// Problems a cell.
        #[schemars(range(min = 1))]
        problems: u32,
    },
    /// One side held at a step, the other at every step given.
    FrozenSide {
        /// The run.
        run: ExecutionId,
        /// The step at which the frozen side is held.
        frozen_step: u32,
        /// The steps at which the other side plays.
        steps: Vec<u32>,
        /// Which side is held.
        frozen: Side,
    },
    /// A child of each operator, retrained, against its parents (PopuLoRA, section 4.6).
    OperatorRetention {
        /// The run.
        run: ExecutionId,
        /// The parents.
        parents: Vec<MemberId>,
        /// Operators of the catalogue.
        operators: Vec<String>,
    },
    /// A stored attempt, generated again and compared.
    Regenerate {
        /// The attempt.
        attempt: AttemptId,
    },
}

/// A side of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Those who propose.
    Teacher,
    /// Those who solve.
    Student,
}
