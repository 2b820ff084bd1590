//! The product's handlers, one file per kind of work.

mod benchmark;
#[cfg(feature = "engine")]
mod diversity;
#[cfg(feature = "engine")]
mod embedding;
#[cfg(feature = "engine")]
mod evolve;
mod rollout;
mod update;
mod verify;

pub use benchmark::{BenchmarkHandler, Rows};
#[cfg(feature = "engine")]
pub use evolve::EvolveHandler;
pub use rollout::RolloutHandler;
pub use update::UpdateHandler;
pub use verify::VerifyHandler;
