//! Files by the hash of their content: adapters, optimizer state, token batches, gradients, samples.

mod bucket;
mod hold;
mod place;
mod store;
mod usage;
mod vectors;

pub use hold::{Reason, collect, hold, release_state, release_step};
pub use place::{ArtifactPlace, ArtifactPlaceError};
pub use store::ArtifactStore;
pub use usage::{Usage, usage};
pub use vectors::Vectors;
