//! Errors of a private Postgres. Every message ends with a remedy.

use std::path::PathBuf;

/// A private Postgres could not be made, started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No Postgres server is installed.
    #[error(
        "no Postgres server found in {searched}; install one (Debian and Ubuntu: `apt-get install postgresql`), name the \
         folder of its binaries in LYCEUM_POSTGRES_BIN, or set DATABASE_URL to your own server"
    )]
    NotInstalled {
        /// The places searched.
        searched: String,
    },

    /// The newest Postgres installed is older than [`crate::OLDEST_MAJOR`].
    #[error(
        "Postgres {found} in {} is too old, Lyceum needs {oldest} or newer; install `postgresql-{oldest}` or newer, or set \
         DATABASE_URL to your own server",
        folder.display()
    )]
    TooOld {
        /// Major version found.
        found: u32,
        /// Oldest supported major version.
        oldest: u32,
        /// The folder of its binaries.
        folder: PathBuf,
    },

    /// The folder was made by a major version of Postgres that is not installed.
    #[error(
        "{} was made by Postgres {cluster}, installed: {installed}; install `postgresql-{cluster}`, or upgrade the folder \
         with pg_upgrade (docs/OPERATING.md)",
        path.display()
    )]
    OtherMajor {
        /// The cluster.
        path: PathBuf,
        /// Its major version.
        cluster: String,
        /// The major versions installed.
        installed: String,
    },

    /// The folder belongs to another user.
    #[error(
        "{} belongs to user {owner}, but this process runs as {me}; run as {owner}, or choose another folder with --data",
        path.display()
    )]
    OtherOwner {
        /// The folder.
        path: PathBuf,
        owner: String,
        /// This process's user.
        me: String,
    },

    /// The unprivileged account cannot reach the folder.
    #[error(
        "Postgres runs as user {account}, which cannot enter {}; `chmod o+x {}`, or choose a data folder elsewhere with \
         --data, for example /var/lib/lyceum",
        blocked.display(),
        blocked.display()
    )]
    Unreachable {
        account: String,
        /// The first folder on the path that it cannot enter.
        blocked: PathBuf,
    },

    /// Root has no account to run Postgres as.
    #[error("Postgres refuses to run as root and there is no user `postgres`; make one: `useradd --system postgres`")]
    NoAccount,

    /// initdb looks up its own user and does not find it.
    #[error(
        "user id {uid} has no entry in /etc/passwd, which Postgres needs; add one, run as another user, or set DATABASE_URL to \
         your own server"
    )]
    NoPasswdEntry {
        /// The user id of this process.
        uid: u32,
    },

    /// The cluster's folder contains something else.
    #[error("{} is neither empty nor a Postgres cluster (no PG_VERSION in it); move it away", path.display())]
    NotACluster {
        /// The folder.
        path: PathBuf,
    },

    /// Another process runs this cluster.
    #[error("{} is in use by another Lyceum; stop that one, or choose another folder with --data", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },

    /// No folder is short enough for a unix socket (107 bytes with the socket's name).
    #[error(
        "the path of a unix socket below {} is longer than {limit} bytes; choose a shorter folder with --data",
        folder.display()
    )]
    SocketPathTooLong {
        /// The folder tried last.
        folder: PathBuf,
        /// The limit of the system.
        limit: usize,
    },

    /// A program of Postgres failed.
    #[error("{program} failed ({status}): {output}")]
    Failed {
        program: &'static str,
        /// Its exit status.
        status: String,
        /// The end of its output.
        output: String,
    },

    /// Postgres did not stop.
    #[error("the Postgres with process id {pid} on {} does not stop; stop it with `kill -QUIT {pid}`", path.display())]
    DoesNotStop {
        /// The postmaster.
        pid: i32,
        /// Its cluster.
        path: PathBuf,
    },

    /// A file or process could not be handled.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },

    /// The thread that watches Postgres has ended.
    #[error("the thread that watches Postgres ended unexpectedly; start again")]
    Abandoned,
}

impl Error {
    /// For `map_err` on I/O errors.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
