//! How errors of the store and the database are reported.

use actix_web::http::StatusCode;
use lyceum_core::fault::Fault;
use lyceum_store::StoreError;

use super::ApiError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound { .. } => Self::not_found(error.to_string()),
            StoreError::Conflict { .. }
            | StoreError::InUse { .. }
            | StoreError::Forked { .. }
            | StoreError::Removed { .. } => Self::conflict(error.to_string()),
            StoreError::Taken { .. } => {
                Self::new(StatusCode::CONFLICT, "taken", "The name is taken", error.to_string())
            }
            StoreError::NoSuchStep { .. } => Self::invalid(vec![Fault::new("/step", error.to_string())]),
            StoreError::Database(database) => Self::database(database),
            StoreError::Artifacts(_) if error.is_full() => {
                tracing::error!(%error, "no space is left for an artifact");
                Self::no_space()
            }
            // Whoever sends an artifact sends it again, so that it is not lost with a bucket that comes back.
            StoreError::Artifacts(_) => {
                tracing::error!(%error, "the artifact store does not respond");
                Self::unavailable("the artifact store does not respond; try again")
            }
            _ => Self::internal(&error),
        }
    }
}

impl From<crate::evaluation::Unprepared> for ApiError {
    fn from(error: crate::evaluation::Unprepared) -> Self {
        match error {
            crate::evaluation::Unprepared::Faults(faults) => faults.into(),
            crate::evaluation::Unprepared::Store(error) => error.into(),
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        Self::database(&error)
    }
}

impl ApiError {
    fn database(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                tracing::error!(%error, "the database does not respond");
                Self::unavailable("the database does not respond; try again")
            }
            // Class 57: the server is being stopped or started (Postgres manual, appendix A).
            sqlx::Error::Database(refused) if refused.code().is_some_and(|code| code.starts_with("57P")) => {
                tracing::error!(%error, "the database is being restarted");
                Self::unavailable("the database is being restarted; try again")
            }
            _ => Self::internal(error),
        }
    }
}
