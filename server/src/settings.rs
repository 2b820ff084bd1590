//! Settings: from a flag, the environment or the settings file, in this order, with one name.
//!
//! Each group below defines flags and environment variables (clap) as well as keys of the file (serde). A command lists
//! the groups it needs, calls [`Sources::read`] and resolves each group against the file.

mod address;
mod common;
mod database;
mod file;
mod secret;
mod server;
mod worker;

pub use address::DatabaseUrl;
pub(crate) use common::FORCE_COLOURS;
pub use common::{CommonArgs, Log, LogFormat, Sources, SourcesError};
pub use database::{Database, DatabaseArgs};
pub use file::{File, FileError};
pub use secret::Secret;
pub use server::{Server, ServerArgs};
pub use worker::{Worker, WorkerArgs};
