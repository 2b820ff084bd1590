//! Settings: from a flag, the environment or the settings file, in this order, with one name.
//!
//! Each group below defines flags and environment variables (clap) as well as keys of the file (serde). A command lists
//! the groups it needs, calls [`Sources::read`] and resolves each group against the file.

mod address;
mod common;
mod file;
mod server;

pub use crate::settings::address::Secret;
pub use crate::settings::common::{Database, DatabaseArgs};
pub use crate::settings::server::{Worker, WorkerArgs};
pub use address::DatabaseUrl;
pub(crate) use common::FORCE_COLOURS;
pub use common::{CommonArgs, Log, LogFormat, Sources, SourcesError};
pub use file::{File, FileError};
pub use server::{Server, ServerArgs};
