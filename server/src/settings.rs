//! Settings: from a flag, the environment or the settings file, in this order, with one name.
//!
//! Each group below defines flags and environment variables (clap) as well as keys of the file (serde). A command lists
//! the groups it needs, calls [`Sources::read`] and resolves each group against the file.

mod address;
mod common;
mod file;
mod server;

pub use address::{DatabaseUrl, Secret};
pub(crate) use common::FORCE_COLOURS;
pub use common::{CommonArgs, Database, DatabaseArgs, Log, LogFormat, Sources, SourcesError};
pub use file::{File, FileError};
pub use server::{Server, ServerArgs, Worker, WorkerArgs};
