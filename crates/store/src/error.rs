//! What can go wrong with stored things.

use lyceum_core::{artifact::Digest, id::ExecutionId};

use crate::artifact::ArtifactPlace;

/// The result of anything stored.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What can go wrong with stored things.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Postgres refused or could not be reached.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// A migration failed.
    #[error("the database's schema cannot be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// apalis refused.
    #[error("the queue: {0}")]
    Queue(String),
    /// Postgres is older than what the schema needs.
    #[error("the database is Postgres {found}, and at least {oldest} is needed")]
    PostgresTooOld {
        /// Its major version.
        found: i32,
        /// The oldest that works.
        oldest: i32,
    },
    /// A bucket of artifacts that cannot be written.
    #[error(
        "cannot keep artifacts at {place}: {source}. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION say who may, \
         and AWS_ENDPOINT_URL (with AWS_ALLOW_HTTP=true for plain HTTP) where a store other than AWS is"
    )]
    Bucket {
        /// The bucket.
        place: ArtifactPlace,
        /// Why not.
        source: object_store::Error,
    },
    /// Stored JSON of a form that this release does not read.
    #[error("a stored {what} cannot be read: {source}")]
    Json {
        /// What was read.
        what: &'static str,
        /// Why it could not be.
        source: serde_json::Error,
    },
    /// Nothing is called that.
    #[error("there is no {what} {id}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        id: String,
    },
    /// The name belongs to another.
    #[error("there is a {what} `{name}` already")]
    Taken {
        /// What it is.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The thing is not in a state in which this can be done.
    #[error("{what} {id} is {state}, and only one that is {wanted} can be {action}")]
    Conflict {
        /// What it is.
        what: &'static str,
        /// Its name.
        id: String,
        /// Its state.
        state: String,
        /// The states in which it could be done.
        wanted: &'static str,
        /// What was to be done.
        action: &'static str,
    },
    /// The item was given to another worker, or cancelled, since it was claimed; nothing was written.
    #[error("the claim on this work is no longer held")]
    FenceLost,
    /// The artifact store could not read or write.
    #[error("the artifact store: {0}")]
    Artifacts(#[from] object_store::Error),
    /// The server that keeps the artifacts did not do as asked.
    #[error("artifacts through the server: {0}")]
    Remote(String),
    /// Bytes that do not hash to their name.
    #[error("artifact {digest} is damaged: its bytes hash to {found}")]
    Damaged {
        /// Its name.
        digest: Digest,
        /// What its bytes hash to.
        found: Digest,
    },
    /// The run cannot be forked there.
    #[error("run {run} cannot be forked at step {step}: it has the states before steps {first} to {last}")]
    NoSuchStep {
        /// The run.
        run: ExecutionId,
        /// Where it was to be forked.
        step: u32,
        /// The first step that it could be forked at.
        first: u32,
        /// The last.
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

impl From<crate::artifact::RemoteError> for StoreError {
    fn from(error: crate::artifact::RemoteError) -> Self {
        Self::Remote(error.to_string())
    }
}

impl StoreError {
    /// A function that names what could not be read.
    pub(crate) fn json(what: &'static str) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { what, source }
    }

    /// Nothing called `id`.
    pub fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// The name belongs to another.
    pub(crate) fn taken(what: &'static str, name: &str) -> Self {
        Self::Taken {
            what,
            name: name.to_owned(),
        }
    }

    /// Whether trying again later may help.
    pub fn is_transient(&self) -> bool {
        match self {
            // Of what Postgres itself says: a lost connection, a lost race, no room, an operator's intervention.
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
