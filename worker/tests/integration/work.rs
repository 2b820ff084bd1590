//! The product's worker, on a real queue.

#[cfg(feature = "engine")]
mod benchmark;
#[cfg(feature = "engine")]
mod dropout;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod evolve;
mod house;
#[cfg(feature = "engine")]
mod kept;
#[cfg(feature = "engine")]
mod learning;
#[cfg(feature = "engine")]
mod run;
mod verify;
