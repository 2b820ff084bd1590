//! The commands, one file each, and their shared arguments.

#[cfg(feature = "engine")]
pub(crate) mod devices;
#[cfg(feature = "engine")]
pub(crate) mod evolve;
pub(crate) mod grade;
mod handlers;
#[cfg(feature = "engine")]
mod loading;
#[cfg(feature = "engine")]
pub(crate) mod merge;
#[cfg(feature = "engine")]
pub(crate) mod prompts;
pub(crate) mod recheck;
#[cfg(feature = "engine")]
pub(crate) mod rollout;
pub(crate) mod run;
#[cfg(feature = "engine")]
pub(crate) mod score;
mod served;
mod torchrun;
#[cfg(feature = "engine")]
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod work;
