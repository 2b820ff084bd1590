//! The science of Lyceum, pure: recipes, rewards, ratings, archives, configs. Nothing here uses a clock, a file or a
//! socket.

pub mod advantage;
pub mod answer;
pub mod archive;
pub mod arithmetic;
pub mod artifact;
pub mod benchmark;
pub mod compute;
pub mod config;
pub mod cross_play;
mod csv;
pub mod dataset;
pub mod diversity;
pub mod duplicate;
pub mod evaluation;
pub mod evolution;
pub mod fault;
pub mod footprint;
pub mod id;
pub mod matchmaking;
pub mod named;
pub mod pick;
pub mod problem;
pub mod prompt;
pub mod rating;
pub mod recipe;
pub mod retention;
pub mod reward;
pub mod seed;
pub mod seriation;
pub mod simulation;
pub mod suspicion;
pub mod verify;
pub mod vocabulary_dropout;
pub mod vote;
pub mod wilson;
pub mod work;
