//! The product's handlers, one file per kind of work.

mod benchmark;
mod compared;
#[cfg(feature = "engine")]
mod diversity;
#[cfg(feature = "engine")]
mod embedded;
#[cfg(feature = "engine")]
mod embedding;
#[cfg(feature = "engine")]
mod epiplexity;
#[cfg(feature = "engine")]
mod evolve;
mod rollout;
mod rows;
mod update;
mod verify;

pub use benchmark::BenchmarkHandler;
#[cfg(feature = "engine")]
pub use evolve::EvolveHandler;
pub use rollout::RolloutHandler;
pub use rows::Rows;
pub use update::UpdateHandler;
pub use verify::VerifyHandler;
