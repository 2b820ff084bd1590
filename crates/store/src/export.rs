//! Whole tables of a run, in batches, so only a few are in memory at once.

mod batch;
mod scores;
mod table;

pub use batch::{Batch, Batches, Column};
pub use scores::{Score, scores};
pub use table::{Field, Kind, Table};
