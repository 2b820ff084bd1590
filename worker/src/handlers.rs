//! The product's handlers, one file a kind of work.

#[cfg(feature = "engine")]
mod evolve;
mod verify;

#[cfg(feature = "engine")]
pub use evolve::EvolveHandler;
pub use verify::VerifyHandler;
