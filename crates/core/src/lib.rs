//! The science of Lyceum, pure: recipes, rewards, ratings, archives, configurations. Nothing here knows a clock, a file or a socket.

pub mod answer;
pub mod artifact;
pub mod config;
pub mod evaluation;
pub mod fault;
pub mod id;
pub mod memory;
pub mod recipe;
pub mod seed;
pub mod verify;
pub mod work;
