//! Versions of members' weights.

mod read;
pub mod weights;
mod write;

pub use read::{Version, find, newest};
pub(crate) use write::write;
