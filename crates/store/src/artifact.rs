//! Files by the hash of their content: adapters, optimizer state, token batches, gradients, samples.

mod bucket;
mod hold;
mod place;
mod store;
mod stream;
mod usage;
mod vectors;

pub use hold::{Reason, collect, hold, hold_if_there, release_state, release_step};
pub use place::{ArtifactPlace, ArtifactPlaceError};
pub use store::ArtifactStore;
pub(crate) use stream::copy;
pub use stream::digest_of;
pub use usage::{Usage, usage};
pub use vectors::Vectors;
