//! The settings file.

use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use serde::de::DeserializeOwned;

/// The settings file, or an empty one.
#[derive(Debug, Default)]
pub struct File {
    path: PathBuf,
    table: toml::Table,
}

/// Errors of the settings file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the settings file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    #[error("{}: {}", path.display(), one_line(source))]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        source: toml::de::Error,
    },
    #[error("{}: there is no setting `{key}`{}", path.display(), suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        key: String,
        /// A similar setting.
        nearest: Option<String>,
    },
    /// A value is of the wrong type or out of range.
    #[error("{}: {}", path.display(), one_line(source))]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: toml::de::Error,
    },
}

impl File {
    /// Reads `path` and refuses unknown keys.
    ///
    /// # Errors
    /// All of [`FileError`] but `BadValue`.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let path = path.to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text),
            Err(source) => Err(FileError::Unreadable { path, source }),
        }
    }

    /// Like [`File::read`], but a missing file is empty.
    ///
    /// # Errors
    /// As [`File::read`].
    pub fn read_if_there(path: &Path) -> Result<Self, FileError> {
        match Self::read(path) {
            Err(FileError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            read => read,
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, FileError> {
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(source) => return Err(FileError::NotToml { path, source }),
        };
        let known = known_keys();
        if let Some(key) = table.keys().find(|key| !known.contains(key)).cloned() {
            let nearest = nearest(&key, &known).map(str::to_owned);
            return Err(FileError::UnknownKey { path, key, nearest });
        }
        Ok(Self { path, table })
    }

    /// A group of settings from the file.
    ///
    /// # Errors
    /// [`FileError::BadValue`], which names the key.
    pub fn group<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        let group = self.table.clone().try_into();
        group.map_err(|source| FileError::BadValue { path: self.path.clone(), source })
    }
}

/// Settings with an environment variable that are not allowed in the file: its own path, and the server of a client.
const NOT_IN_FILE: [&str; 3] = ["config", "token", "url"];

/// Variables that systemd sets for `ExecStopPost=`.
const SAID_BY_SYSTEMD: [&str; 3] = ["SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS"];

/// All settings of all commands, as spelled in the file.
pub(crate) fn known_keys() -> Vec<String> {
    let mut cli = crate::cli::Cli::command();
    cli.build();
    let commands = std::iter::once(&cli).chain(cli.get_subcommands());
    let arguments = commands
        .flat_map(clap::Command::get_arguments)
        // What systemd says in the environment of a unit's commands is not a setting.
        .filter(|argument| argument.get_env().is_some_and(|name| !SAID_BY_SYSTEMD.iter().any(|said| name == *said)));
    let mut keys: Vec<_> = arguments
        .map(|argument| argument.get_id().to_string())
        .filter(|key| !NOT_IN_FILE.contains(&key.as_str()))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// The known key most similar to `key`, if any.
fn nearest<'a>(key: &str, known: &'a [String]) -> Option<&'a str> {
    let likeness = |candidate: &str| strsim::jaro_winkler(&key.replace('-', "_"), candidate);
    let scored = known.iter().map(|candidate| (likeness(candidate), candidate.as_str()));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.8).map(|(_, candidate)| candidate)
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; the settings are {}", known_keys().join(", ")),
    }
}

/// A TOML error on one line, without the excerpt and caret.
fn one_line(error: &toml::de::Error) -> String {
    error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<File, FileError> {
        File::parse("lyceum.toml".into(), text)
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_name() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(message("prot = 1"), "lyceum.toml: there is no setting `prot`; did you mean `port`?");
        assert_eq!(
            message("database-url = \"x\""),
            "lyceum.toml: there is no setting `database-url`; did you mean `database_url`?"
        );
        assert!(
            message("zzz = 1").contains("; the settings are allowed_hosts, artifacts, data, database_connections"),
            "{}",
            message("zzz = 1")
        );
    }

    #[test]
    fn the_manual_names_every_setting() {
        let manual = include_str!("../../../docs/OPERATING.md");
        for key in known_keys() {
            let flag = key.replace('_', "-");
            let mut rows = manual.lines().filter(|line| line.starts_with(&format!("| `{key}`")));
            assert!(rows.any(|row| row.contains(&format!("`--{flag}`"))), "docs/OPERATING.md lacks `{key}`");
        }
    }

    #[test]
    fn a_wrong_type_names_the_key() {
        let file = parse("port = \"many\"").unwrap();
        let message = file.group::<crate::settings::ServerArgs>().unwrap_err().to_string();
        assert!(message.contains("port") && message.contains("u16"), "{message}");
    }

    #[test]
    fn a_file_that_is_not_toml_is_refused_on_one_line() {
        let message = parse("port = = 1").unwrap_err().to_string();
        assert!(message.starts_with("lyceum.toml: ") && !message.contains('\n'), "{message}");
    }
}
