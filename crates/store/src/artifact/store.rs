//! Reading and writing artifacts.

use lyceum_core::artifact::{ArtifactKind, Digest};
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, local::LocalFileSystem, path::Path};
use sqlx::PgPool;
use std::sync::Arc;

use crate::{Result, StoreError};

/// Artifacts in a folder or an object store, with a row each.
#[derive(Clone, Debug)]
pub struct ArtifactStore {
    objects: Arc<dyn ObjectStore>,
    pool: PgPool,
}

impl ArtifactStore {
    /// Artifacts below `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made or entered.
    pub fn folder(folder: &std::path::Path, pool: PgPool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|source| object_store::Error::Generic {
            store: "folder",
            source: Box::new(source),
        })?;
        Ok(Self {
            objects: Arc::new(LocalFileSystem::new_with_prefix(folder)?),
            pool,
        })
    }

    /// Artifacts in any object store.
    pub fn new(objects: Arc<dyn ObjectStore>, pool: PgPool) -> Self {
        Self { objects, pool }
    }

    /// Writes `bytes` and returns their name. Writing what is there already is harmless.
    ///
    /// # Errors
    /// When the bytes cannot be written, as on a full disk; then nothing names them.
    pub async fn put(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<Digest> {
        let digest = Digest::of(&bytes);
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        // The row comes first and is young, so that a collection which runs beside this leaves the bytes alone; whoever
        // names an artifact does so after this returns.
        sqlx::query(
            "INSERT INTO artifacts (digest, kind, bytes) VALUES ($1, $2, $3)
             ON CONFLICT (digest) DO UPDATE SET created_at = now(), removed_at = NULL",
        )
        .bind(digest.to_string())
        .bind(kind.name())
        .bind(length)
        .execute(&self.pool)
        .await?;
        self.objects.put(&place(digest), PutPayload::from(bytes)).await?;
        Ok(digest)
    }

    /// The bytes called `digest`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::Damaged`] when they are not what they were.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>> {
        let bytes = match self.objects.get(&place(digest)).await {
            Ok(object) => object.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Err(StoreError::not_found("artifact", digest)),
            Err(error) => return Err(error.into()),
        };
        let found = Digest::of(&bytes);
        if found == digest {
            Ok(bytes.into())
        } else {
            Err(StoreError::Damaged { digest, found })
        }
    }

    pub(super) async fn remove(&self, digest: Digest) -> Result<()> {
        match self.objects.delete(&place(digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn pool(&self) -> &PgPool {
        &self.pool
    }
}

/// Two letters a folder, so that none grows large.
fn place(digest: Digest) -> Path {
    let name = digest.to_string();
    Path::from_iter([&name[..2], &name])
}
