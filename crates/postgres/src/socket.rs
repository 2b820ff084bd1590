//! The folder of the unix socket: mode 0700, with a short path, because the system limits a socket's path.

use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::account::Account;
use crate::{Error, Result};

/// Size of Linux's `sun_path` minus the terminating zero.
const LONGEST_PATH: usize = 107;
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// Location of the socket. A folder created in the temporary folder is removed with this value.
#[derive(Debug)]
pub(crate) struct SocketFolder {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl SocketFolder {
    /// `home/socket`, or a new folder in the temporary folder if that path would be too long.
    pub(crate) fn make(home: &Path, account: &Account) -> Result<Self> {
        let own = home.join("socket");
        let (path, temporary) = if fits(&own) {
            (own, None)
        } else {
            let parent = std::env::temp_dir();
            let folder =
                tempfile::Builder::new().prefix("lyceum-").tempdir().map_err(Error::io("write to", &parent))?;
            (folder.path().to_owned(), Some(folder))
        };
        if !fits(&path) {
            return Err(Error::SocketPathTooLong { folder: path, limit: LONGEST_PATH });
        }
        account.own_folder(&path)?;
        Ok(Self { path, _temporary: temporary })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The address of `database` for clients.
    pub(crate) fn url(&self, database: &str) -> String {
        url(&self.path, database)
    }
}

/// The address of a database behind the socket in `folder`.
pub(crate) fn url(folder: &Path, database: &str) -> String {
    let host = utf8_percent_encode(&folder.to_string_lossy(), NON_ALPHANUMERIC).to_string();
    format!("postgres://{}@localhost/{database}?host={host}", crate::cluster::USER)
}

/// Whether the path of a socket in `folder` is short enough for the system.
pub(crate) fn fits(folder: &Path) -> bool {
    folder.join(SOCKET_NAME).as_os_str().len() <= LONGEST_PATH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_the_socket_not_of_the_folder() {
        let folder = |length: usize| PathBuf::from(format!("/{}", "x".repeat(length - 1)));
        let longest = LONGEST_PATH - SOCKET_NAME.len() - 1;
        assert!(fits(&folder(longest)));
        assert!(!fits(&folder(longest + 1)));
    }
}
