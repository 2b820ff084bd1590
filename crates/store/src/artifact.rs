//! Files by the hash of their content: adapters, optimizer state, token batches, gradients, samples.

mod bucket;
mod hold;
mod place;
mod store;
mod stream;
mod vectors;

pub use hold::{Reason, collect, hold, hold_if_there, release_state, release_step};
pub use place::{ArtifactPlace, ArtifactPlaceError};
pub use store::ArtifactStore;
pub(crate) use stream::copy;
pub use stream::digest_of;
pub use vectors::Vectors;

use lyceum_core::artifact::ArtifactKind;
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// Artifacts of one kind.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Usage {
    pub kind: ArtifactKind,
    /// Number of artifacts.
    pub artifacts: i64,
    /// Their total size in bytes.
    pub bytes: i64,
}

/// Storage used, by kind of artifact.
pub async fn usage(db: &PgPool) -> Result<Vec<Usage>> {
    Ok(sqlx::query_as(
        "SELECT kind, count(*) AS artifacts, coalesce(sum(bytes), 0)::bigint AS bytes
         FROM artifacts WHERE removed_at IS NULL GROUP BY kind ORDER BY kind",
    )
    .fetch_all(db)
    .await?)
}
