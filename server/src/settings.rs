//! Settings: from a flag, the environment or the settings file, in this order, with one name.
//!
//! Each group below defines flags and environment variables (clap) as well as keys of the file (serde). A command lists
//! the groups it needs, calls [`Sources::read`] and resolves each group against the file.

mod address;
mod file;
mod host;
mod server;

pub use address::{DatabaseUrl, Secret};
pub use file::{File, FileError};
pub use host::{HostName, PublicUrl};
pub use server::{Server, ServerArgs, Worker, WorkerArgs};

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nix::unistd::geteuid;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// The name of the settings file in the data folder.
const FILE_NAME: &str = "lyceum.toml";

/// Asks for colours where standard error is not a terminal (bixense.com/clicolors).
pub(crate) const FORCE_COLOURS: &str = "CLICOLOR_FORCE";

/// The default log filter; libraries are limited to warnings.
const QUIET: &str = "info,actix_server=warn,sqlx=warn";

/// Data folder, settings file and log.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Common settings")]
pub struct CommonArgs {
    /// The data folder [default: /var/lib/lyceum for root, else ~/.local/share/lyceum]
    ///
    /// It contains the private Postgres, artifacts, the admin token and lyceum.toml.
    #[arg(long, global = true, env = "LYCEUM_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// The settings file [default: lyceum.toml in the data folder, if there is one]
    #[arg(long, global = true, env = "LYCEUM_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    config: Option<PathBuf>,

    /// The log filter: a level, or levels by module such as `info,sqlx=debug` [default: info, and warnings of
    /// libraries; `lyceum up` in a terminal: warnings, and one line per step]
    #[arg(long, global = true, env = "LYCEUM_LOG", value_name = "FILTER")]
    log: Option<String>,

    /// The log format: text, or json with one object per line [default: text]
    #[arg(long, global = true, env = "LYCEUM_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// The log format.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The data folder and the settings file, which provide settings besides flags and the environment.
#[derive(Debug)]
pub struct Sources {
    /// The data folder, which may not exist.
    pub data: PathBuf,
    /// The settings file.
    pub file: File,
    /// The log's settings.
    pub log: Log,
}

/// The log's settings.
#[derive(Clone, Debug)]
pub struct Log {
    filter: Option<String>,
    format: Option<LogFormat>,
}

/// Why the settings cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// There is no home folder for the data folder.
    #[error("there is no home folder; set the data folder with --data")]
    NoHome,
    /// The data folder is not a folder.
    #[error("{} is not a folder; choose another data folder with --data", .0.display())]
    NotAFolder(PathBuf),
    /// The filter of the log is malformed.
    #[error("`{filter}` is not a log filter ({source}); it looks like `info` or `info,sqlx=debug`")]
    LogFilter {
        filter: String,
        /// The fault.
        source: tracing_subscriber::filter::ParseError,
    },
    /// The settings file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Sources {
    /// Finds the data folder and reads the settings file.
    ///
    /// # Errors
    /// All of [`SourcesError`].
    pub fn read(given: CommonArgs) -> Result<Self, SourcesError> {
        // Only a file outside the data folder can set the data folder.
        let (data, file) = match &given.config {
            Some(path) => {
                let file = File::read(path)?;
                (given.data.or(file.group::<CommonArgs>()?.data).or_else(default_data), file)
            }
            None => {
                let data = given.data.or_else(default_data);
                if let Some(file) = data.as_ref().filter(|data| data.exists() && !data.is_dir()) {
                    return Err(SourcesError::NotAFolder(file.clone()));
                }
                let file = data.as_ref().map(|data| File::read_if_there(&data.join(FILE_NAME))).transpose()?;
                (data, file.unwrap_or_default())
            }
        };
        let data = data.ok_or(SourcesError::NoHome)?;
        let stored: CommonArgs = file.group()?;
        let filter = given.log.or(stored.log);
        if let Some(filter) = &filter {
            EnvFilter::try_new(filter).map_err(|source| SourcesError::LogFilter { filter: filter.clone(), source })?;
        }
        let format = given.log_format.or(stored.log_format);
        Ok(Self { data, file, log: Log { filter, format } })
    }
}

impl Log {
    /// Whether filter and format are both unset.
    pub fn is_unset(&self) -> bool {
        self.filter.is_none() && self.format.is_none()
    }

    /// Environment variables that give a worker the same log settings.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let filter = self.filter.clone().map(|filter| ("LYCEUM_LOG", filter));
        let format = self.format.and_then(|format| format.to_possible_value());
        let format = format.map(|format| ("LYCEUM_LOG_FORMAT", format.get_name().to_owned()));
        filter.into_iter().chain(format).collect()
    }

    /// Starts logging to standard error.
    pub fn start(&self) {
        let filter = EnvFilter::new(self.filter.as_deref().unwrap_or(QUIET));
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let started = match self.format.unwrap_or_default() {
            LogFormat::Text => lines.with_ansi(is_coloured()).try_init(),
            LogFormat::Json => lines.json().flatten_event(true).try_init(),
        };
        if let Err(error) = started {
            tracing::debug!("the log was started already: {error}");
        }
    }
}

/// Whether the log has colours. A supervisor in a terminal, which passes the log on, asks for them with a common variable.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal() || std::env::var_os(FORCE_COLOURS).is_some_and(|value| value != "0")
}

/// The default: below /var/lib for root, otherwise below the home folder.
fn default_data() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some("/var/lib/lyceum".into());
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let shared = folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")))?;
    Some(shared.join("lyceum"))
}

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
