//! Datasets: what they are for, what their rows are, and when two rows ask the same.

mod fingerprint;
mod purpose;
mod row;
mod seed;
mod usage;

pub use fingerprint::{Fingerprints, fingerprints};
pub use purpose::Purpose;
pub use row::{RowCheck, RowFault, problem};
pub use seed::SeedProblem;
pub use usage::{DatasetRef, DatasetUse};
