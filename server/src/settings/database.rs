//! Settings of the database.

use clap::Args;
use serde::Deserialize;

use super::{DatabaseUrl, File, FileError};

/// A database error.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Database")]
pub struct DatabaseArgs {
    /// The address of your own Postgres, such as postgres://user:password@host/database
    ///
    /// Without it, `lyceum up` runs a private Postgres in the data folder.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<DatabaseUrl>,

    /// Maximum connections of this process to the database [default: 16]
    #[arg(long, env = "LYCEUM_DATABASE_CONNECTIONS", value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    database_connections: Option<u32>,
}

/// The database, as resolved.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its address, unless it is private.
    pub url: Option<DatabaseUrl>,
    /// Maximum connections.
    pub connections: u32,
}

impl DatabaseArgs {
    /// Fills in missing values from the file and the defaults.
    ///
    /// # Errors
    /// A value in the file is invalid.
    pub fn resolve(self, file: &File) -> Result<Database, FileError> {
        let stored: Self = file.group()?;
        Ok(Database {
            url: self.database_url.or(stored.database_url),
            connections: self.database_connections.or(stored.database_connections).unwrap_or(16),
        })
    }
}
