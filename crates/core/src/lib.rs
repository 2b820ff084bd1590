//! The science of Lyceum, pure: recipes, rewards, ratings, archives, configurations. Nothing here knows a clock, a file or a socket.

pub mod verify;
