//! Which database, and how much of it.

use clap::Args;
use serde::Deserialize;

use super::{DatabaseUrl, File, FileError};

/// The database.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Database")]
pub struct DatabaseArgs {
    /// The address of a Postgres of your own, such as postgres://user:password@host/database
    ///
    /// `lyceum up` runs a private Postgres in the data folder if this is not given.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<DatabaseUrl>,

    /// The most connections to the database that this process opens [default: 16]
    #[arg(long, env = "LYCEUM_DATABASE_CONNECTIONS", value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    database_connections: Option<u32>,
}

/// The database, as resolved.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its address, if it is not a private one.
    pub url: Option<DatabaseUrl>,
    /// The most connections to open.
    pub connections: u32,
}

impl DatabaseArgs {
    /// Fills up from the file and the defaults.
    ///
    /// # Errors
    /// A value of the file that is wrong.
    pub fn resolve(self, file: &File) -> Result<Database, FileError> {
        let stored: Self = file.group()?;
        Ok(Database {
            url: self.database_url.or(stored.database_url),
            connections: self.database_connections.or(stored.database_connections).unwrap_or(16),
        })
    }
}
