//! Whole tables of a run, batch by batch: nothing is left out, and no more than a few batches are in memory at once.

mod batch;
mod table;

pub use batch::{Batch, Batches, Column};
pub use table::{Field, Kind, Table};
