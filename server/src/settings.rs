//! Settings: from a flag, the environment or the settings file, in this order, under one name.
//!
//! Every group below is at once the flags (clap), the environment (clap) and the keys of the file (serde). A command
//! names the groups it needs, calls [`Sources::read`] and resolves each group against the file.

mod address;
mod common;
mod database;
mod file;
mod secret;
mod server;
mod worker;

pub use address::DatabaseUrl;
pub use common::{CommonArgs, Log, LogFormat, Sources, SourcesError};
pub use database::{Database, DatabaseArgs};
pub use file::{File, FileError};
pub use secret::Secret;
pub use server::{Server, ServerArgs};
pub use worker::{Worker, WorkerArgs};
