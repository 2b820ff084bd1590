//! The peak device memory of an update (in one lane) and of generation, so that a server can tell what fits before a worker
//! tries.
//!
//! [`UpdateShape::peak`] and [`GenerationShape::peak`] have the formulas.

mod base;
#[cfg(test)]
mod fixtures;
mod generation;
mod update;

pub use self::base::{BaseShape, LARGEST_SIZE, context_length};
pub use self::generation::{GenerationFit, GenerationFootprint, GenerationShape};
pub use self::update::{LOGITS, ROWS_TO_MERGE, SHARED, UpdateFootprint, UpdateShape};

/// Saturates at `u64::MAX`.
fn saturating(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
