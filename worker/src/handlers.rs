//! The product's handlers, one file per kind of work.

#[cfg(feature = "engine")]
mod benchmark;
#[cfg(feature = "engine")]
mod compared;
#[cfg(feature = "engine")]
mod diversity;
#[cfg(feature = "engine")]
mod embedding;
#[cfg(feature = "engine")]
mod epiplexity;
#[cfg(feature = "engine")]
mod evolve;
#[cfg(feature = "engine")]
mod rollout;
mod rows;
#[cfg(feature = "engine")]
mod update;
mod verify;

#[cfg(feature = "engine")]
pub use benchmark::BenchmarkHandler;
#[cfg(feature = "engine")]
pub use evolve::EvolveHandler;
#[cfg(feature = "engine")]
pub use rollout::RolloutHandler;
pub use rows::Rows;
#[cfg(feature = "engine")]
pub use update::UpdateHandler;
pub use verify::VerifyHandler;
