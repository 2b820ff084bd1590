//! Errors of the store.

use chrono::{DateTime, Utc};
use lyceum_core::artifact::Digest;
use lyceum_core::id::ExecutionId;
use std::error::Error;
use std::io;
use std::time::Duration;

use crate::artifact::ArtifactPlace;
use crate::remote::RemoteError;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Postgres refused or could not be reached.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// A migration failed.
    #[error("the database's schema cannot be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A later release has removed from the schema what this one needs.
    #[error(
        "release {release} has migrated the database, and this is release {}, which can no longer use it. Install release {release}, \
         or restore the dump that was taken before the upgrade (docs/OPERATING.md, Upgrading)",
        env!("CARGO_PKG_VERSION")
    )]
    OfLaterRelease { release: String },
    /// apalis failed.
    #[error("the queue: {0}")]
    Queue(String),
    /// Postgres is too old for the schema.
    #[error("the database is Postgres {found}, and at least {oldest} is needed")]
    PostgresTooOld {
        /// Its major version.
        found: i32,
        /// The oldest supported version.
        oldest: i32,
    },
    /// The bucket for artifacts cannot be written.
    #[error(
        "cannot keep artifacts at {place}: {source}. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION say who may, \
         and AWS_ENDPOINT_URL (with AWS_ALLOW_HTTP=true for plain HTTP) where a store other than AWS is"
    )]
    Bucket {
        /// The bucket.
        place: ArtifactPlace,
        /// Why.
        source: object_store::Error,
    },
    /// Stored JSON that this release cannot read.
    #[error("a stored {what} cannot be read: {source}")]
    Json {
        /// What was read.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no such row.
    #[error("there is no {what} {id}")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// Its id or name.
        id: String,
    },
    /// The name is in use.
    #[error("there is a {what} `{name}` already")]
    Taken { what: &'static str, name: String },
    /// Work that has not finished needs it.
    #[error("{what} `{name}` is in use by {users}: wait until it has finished or cancel it, then delete the {what}")]
    InUse {
        what: &'static str,
        /// The name or digest.
        name: String,
        /// The runs and evaluations that name it.
        users: String,
    },
    /// Forks of the run need its problems.
    #[error("run {run} cannot be deleted: the problems that it made are also those of {forks}; delete these first")]
    Forked { run: ExecutionId, forks: String },
    /// The action is not possible in the current state.
    #[error("{what} {id} is {state}, and only one that is {wanted} can be {action}")]
    Conflict {
        what: &'static str,
        /// Its name.
        id: String,
        state: String,
        /// The states in which it is possible.
        wanted: &'static str,
        /// The action, as a participle.
        action: &'static str,
    },
    /// The item was cancelled or given to another worker since it was claimed; nothing was written.
    #[error("the claim on this work is no longer held")]
    FenceLost,
    /// The artifact store could not read or write.
    #[error("the artifact store: {0}")]
    Artifacts(#[from] object_store::Error),
    /// A request to the server with the artifacts and datasets failed.
    #[error("through the server: {0}")]
    Remote(#[from] RemoteError),
    /// The bytes do not match their digest.
    #[error("artifact {digest} is damaged: its bytes hash to {found}")]
    Damaged {
        /// Its name.
        digest: Digest,
        /// The digest of its bytes.
        found: Digest,
    },
    /// Nothing held the artifact for an hour, so it was collected before something referred to it.
    #[error("artifact {digest} was removed, since nothing had referred to it for an hour; it has to be written again")]
    Removed {
        /// Its name.
        digest: Digest,
    },
    /// The reward's text was removed.
    #[error("reward {digest} was removed on {}: store its file again to use it (`lyceum reward add FILE`)", at.format("%Y-%m-%d"))]
    RemovedReward { digest: Digest, at: DateTime<Utc> },
    /// The run cannot be forked there.
    #[error("run {run} cannot be forked at step {step}: {first} to {last} are valid")]
    NoSuchStep {
        run: ExecutionId,
        /// The requested step.
        step: u32,
        /// The first step at which it can be forked.
        first: u32,
        last: u32,
    },
}

impl From<apalis_postgres::Error> for StoreError {
    fn from(error: apalis_postgres::Error) -> Self {
        match error {
            apalis_postgres::Error::Database(error) => Self::Database(error),
            other => Self::Queue(other.to_string()),
        }
    }
}

impl StoreError {
    /// Wraps an error of reading `what`.
    pub(crate) fn json(what: &'static str) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { what, source }
    }

    /// There is no `what` with this id.
    pub fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// The name is in use.
    pub(crate) fn taken(what: &'static str, name: &str) -> Self {
        Self::Taken { what, name: name.to_owned() }
    }

    /// Whether trying again within minutes may succeed: something is being restarted, or busy. A full disk is no such
    /// thing, since it stays full until somebody reads of it.
    pub fn passes(&self) -> bool {
        let passes = match self {
            Self::Remote(error) => error.passes(),
            _ => self.is_transient(),
        };
        passes && !self.is_full()
    }

    /// Whether a disk with artifacts is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Remote(error) => error.is_full(),
            Self::Artifacts(error) => has_full_disk(error),
            _ => false,
        }
    }

    /// When a server that is busy wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Remote(error) => error.retry_after(),
            _ => None,
        }
    }

    /// Whether what is stored was read and not understood: another release may have written it.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Json { .. } | Self::Database(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)))
    }

    /// Whether a later retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            // Codes of Postgres: connection lost, serialization failure, out of resources, operator intervention.
            Self::Database(sqlx::Error::Database(error)) => error
                .code()
                .is_some_and(|code| ["08", "40", "53", "55", "57"].contains(&code.get(..2).unwrap_or_default())),
            Self::Database(error) => !matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)),
            Self::Artifacts(error) => !matches!(error, object_store::Error::NotFound { .. }),
            Self::Remote(_) => true,
            _ => false,
        }
    }
}

fn has_full_disk(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let system = error.downcast_ref::<io::Error>();
        if system.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull) {
            return true;
        }
        cause = error.source();
    }
    false
}
