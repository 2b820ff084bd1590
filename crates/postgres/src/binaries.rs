//! Finds the system's Postgres installations and their versions.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

/// The oldest supported major version of Postgres.
pub const OLDEST_MAJOR: u32 = 15;

/// One installation of the Postgres server.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    major: u32,
    version: String,
}

impl Binaries {
    /// The newest installation that is not too old.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] and [`Error::TooOld`].
    pub fn newest() -> Result<Self> {
        let newest = Self::installed().into_iter().next();
        let newest = newest.ok_or_else(|| Error::NotInstalled { searched: searched() })?;
        newest.check_age()
    }

    /// The installation that can run a cluster of version `cluster_major`, as given in its `PG_VERSION`.
    pub(crate) fn matching(cluster_major: &str, cluster: &Path) -> Result<Self> {
        let installed = Self::installed();
        if installed.is_empty() {
            return Err(Error::NotInstalled { searched: searched() });
        }
        let majors: Vec<_> = installed.iter().map(|binaries| binaries.major.to_string()).collect();
        let found = installed.into_iter().find(|binaries| binaries.major.to_string() == cluster_major);
        found.map(Self::check_age).unwrap_or_else(|| {
            Err(Error::OtherMajor {
                path: cluster.to_owned(),
                cluster: cluster_major.to_owned(),
                installed: majors.join(", "),
            })
        })
    }

    /// All installations, newest first. If `LYCEUM_POSTGRES_BIN` is set, only that one.
    pub fn installed() -> Vec<Self> {
        let mut found: Vec<Self> = candidate_folders().into_iter().filter_map(Self::in_folder).collect();
        found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
        found.dedup_by(|a, b| a.folder == b.folder);
        found
    }

    /// The folder that holds `postgres`, `initdb` and `psql`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The major version, such as 15.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The full version, such as `15.20`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn check_age(self) -> Result<Self> {
        if self.major < OLDEST_MAJOR {
            return Err(Error::TooOld { found: self.major, oldest: OLDEST_MAJOR, folder: self.folder });
        }
        Ok(self)
    }

    fn in_folder(folder: PathBuf) -> Option<Self> {
        if !folder.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
        let (version, major) = parse_version(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { folder: folder.canonicalize().unwrap_or(folder), major, version })
    }
}

/// `postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)` is `15.20` and 15; a beta is `18beta1` and 18.
fn parse_version(said: &str) -> Option<(String, u32)> {
    let version = said.split_once("(PostgreSQL)")?.1.split_whitespace().next()?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((version.to_owned(), digits.parse().ok()?))
}

fn named_folder() -> Option<PathBuf> {
    env::var_os("LYCEUM_POSTGRES_BIN").map(PathBuf::from)
}

fn searched() -> String {
    match named_folder() {
        Some(folder) => format!("{} (LYCEUM_POSTGRES_BIN)", folder.display()),
        None => "/usr/lib/postgresql/*/bin, /usr/pgsql-*/bin, /usr/local/pgsql/bin and PATH".to_owned(),
    }
}

/// The folders of Debian, Ubuntu and Arch, of Red Hat, Postgres' own default, and those on the path.
fn candidate_folders() -> Vec<PathBuf> {
    if let Some(folder) = named_folder() {
        return vec![folder];
    }
    let mut folders: Vec<PathBuf> = below("/usr/lib/postgresql", "").map(|folder| folder.join("bin")).collect();
    folders.extend(below("/usr", "pgsql-").map(|folder| folder.join("bin")));
    folders.push("/usr/local/pgsql/bin".into());
    folders.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
    folders
}

fn below(parent: &str, prefix: &'static str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix)).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn versions_are_read_as_postgres_prints_them() {
        let parsed = |said| parse_version(said).unwrap();
        assert_eq!(parsed("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)\n"), ("15.20".into(), 15));
        assert_eq!(parsed("postgres (PostgreSQL) 17.2\n"), ("17.2".into(), 17));
        assert_eq!(parsed("postgres (PostgreSQL) 18beta1\n"), ("18beta1".into(), 18));
        assert_eq!(parse_version("postgres: not found"), None);
    }
}
