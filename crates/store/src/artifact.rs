//! Files by the hash of their content: adapters, optimizer state, token batches, gradients, samples.

mod hold;
mod store;

pub use hold::{Reason, collect, hold, release_step};
pub use store::ArtifactStore;
