//! The science of Lyceum, pure: recipes, rewards, ratings, archives, configs. Nothing here uses a clock, a file or a
//! socket.

pub mod advantage;
pub mod answer;
pub mod archive;
pub mod arithmetic;
pub mod artifact;
pub mod auc;
pub mod benchmark;
pub mod compute;
pub mod config;
pub mod contract;
mod csv;
pub mod dataset;
pub mod diversity;
pub mod duplicate;
pub mod evaluations;
pub mod evolution;
pub mod fault;
pub mod footprint;
pub mod id;
pub mod kit;
pub mod matchmaking;
pub mod named;
pub mod pick;
pub mod problem;
pub mod prompt;
pub mod prompt_trial;
pub mod rating;
pub mod recipes;
pub mod reward;
pub mod seed;
pub mod seriation;
mod shipped;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
pub mod statistics;
pub mod suspicion;
pub mod verdict;
pub mod verify;
pub mod vocabulary_dropout;
pub mod vote;
pub mod work;

pub use crate::evaluations as evaluation;
pub use crate::evaluations::cross_play::result as cross_play;
pub use crate::evaluations::goalposts::result as goalpost_map;
pub use crate::evaluations::operator_retention::result as retention;

/// Everything about planning under one name.
pub mod recipe {
    pub use crate::contract::*;
    pub use crate::evaluations::*;
    pub use crate::kit::*;
    pub use crate::recipes::*;
}
