//! The commands, one file each, and what several of them need.

pub(crate) mod bench;
mod bench_verify;
#[cfg(feature = "engine")]
pub(crate) mod evolve;
pub(crate) mod grade;
#[cfg(feature = "engine")]
pub(crate) mod held_out;
#[cfg(feature = "engine")]
mod lines;
#[cfg(feature = "engine")]
mod loading;
#[cfg(feature = "engine")]
pub(crate) mod merge;
#[cfg(feature = "engine")]
pub(crate) mod pretrain;
mod progress;
#[cfg(feature = "engine")]
pub(crate) mod rollout;
#[cfg(feature = "engine")]
pub(crate) mod score;
#[cfg(feature = "engine")]
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod work;
