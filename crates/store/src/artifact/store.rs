//! Reading and writing artifacts.

use lyceum_core::artifact::{ArtifactKind, Digest};
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, local::LocalFileSystem, path::Path};
use sqlx::PgPool;
use std::{ffi::OsString, sync::Arc};

use super::{ArtifactPlace, RemoteArtifacts, RemoteError, bucket};
use crate::{Result, StoreError};

/// Artifacts in a folder or an object store with a row each, or those of a server.
#[derive(Clone, Debug)]
pub struct ArtifactStore(Backend);

#[derive(Clone, Debug)]
enum Backend {
    Objects {
        objects: Arc<dyn ObjectStore>,
        pool: PgPool,
    },
    Server(RemoteArtifacts),
}

impl ArtifactStore {
    /// Artifacts at `place`. How a bucket is reached, the environment says as it does for the tools of AWS.
    ///
    /// # Errors
    /// A folder that cannot be made or entered; a bucket that cannot be written.
    pub async fn open(place: &ArtifactPlace, pool: PgPool) -> Result<Self> {
        match place {
            ArtifactPlace::Folder(folder) => Self::folder(folder, pool),
            ArtifactPlace::Bucket { bucket, prefix } => {
                let readable =
                    |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
                Self::bucket(bucket, prefix, std::env::vars_os().filter_map(readable), pool).await
            }
        }
    }

    /// Artifacts in a bucket, below `prefix`. `options` are named as the environment variables of the tools of AWS are.
    ///
    /// # Errors
    /// [`StoreError::Bucket`] when it cannot be written.
    pub async fn bucket(
        bucket: &str,
        prefix: &str,
        options: impl IntoIterator<Item = (String, String)>,
        pool: PgPool,
    ) -> Result<Self> {
        Ok(Self::new(bucket::open(bucket, prefix, options).await?, pool))
    }

    /// Artifacts below `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made or entered.
    pub fn folder(folder: &std::path::Path, pool: PgPool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|source| object_store::Error::Generic {
            store: "folder",
            source: Box::new(source),
        })?;
        Ok(Self::new(Arc::new(LocalFileSystem::new_with_prefix(folder)?), pool))
    }

    /// Artifacts in any object store.
    pub fn new(objects: Arc<dyn ObjectStore>, pool: PgPool) -> Self {
        Self(Backend::Objects { objects, pool })
    }

    /// Artifacts of a server, which keeps their rows.
    pub fn remote(server: RemoteArtifacts) -> Self {
        Self(Backend::Server(server))
    }

    /// Writes `bytes` and returns their name. Writing what is there already is harmless.
    ///
    /// # Errors
    /// When the bytes cannot be written, as on a full disk; then nothing names them.
    pub async fn put(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<Digest> {
        let digest = Digest::of(&bytes);
        match &self.0 {
            Backend::Objects { objects, pool } => {
                // The row comes first and is young, so that a collection which runs beside this leaves the bytes alone;
                // whoever names an artifact does so after this returns.
                sqlx::query(
                    "INSERT INTO artifacts (digest, kind, bytes) VALUES ($1, $2, $3)
                     ON CONFLICT (digest) DO UPDATE SET created_at = now(), removed_at = NULL",
                )
                .bind(digest.to_string())
                .bind(kind)
                .bind(i64::try_from(bytes.len()).unwrap_or(i64::MAX))
                .execute(pool)
                .await?;
                objects.put(&place(digest), PutPayload::from(bytes)).await?;
            }
            Backend::Server(server) => {
                let server = server.clone();
                blocking(move || server.put(kind, digest, &bytes)).await?;
            }
        }
        Ok(digest)
    }

    /// The bytes called `digest`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::Damaged`] when they are not what they were.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>> {
        let bytes = match &self.0 {
            Backend::Objects { objects, .. } => match objects.get(&place(digest)).await {
                Ok(object) => Some(object.bytes().await?.into()),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            },
            Backend::Server(server) => {
                let server = server.clone();
                blocking(move || server.get(digest)).await?
            }
        };
        let bytes: Vec<u8> = bytes.ok_or_else(|| StoreError::not_found("artifact", digest))?;
        let found = Digest::of(&bytes);
        if found == digest {
            Ok(bytes)
        } else {
            Err(StoreError::Damaged { digest, found })
        }
    }

    /// What can be collected: the objects and their rows. A server collects its own.
    pub(super) fn objects(&self) -> Option<(&Arc<dyn ObjectStore>, &PgPool)> {
        match &self.0 {
            Backend::Objects { objects, pool } => Some((objects, pool)),
            Backend::Server(_) => None,
        }
    }
}

/// Removes the object called `digest`, if it is there.
pub(super) async fn remove(objects: &Arc<dyn ObjectStore>, digest: Digest) -> Result<()> {
    match objects.delete(&place(digest)).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T, RemoteError> + Send + 'static) -> Result<T> {
    let answer = tokio::task::spawn_blocking(ask).await;
    Ok(answer.map_err(|lost| StoreError::Remote(lost.to_string()))??)
}

/// Two letters a folder, so that none grows large.
fn place(digest: Digest) -> Path {
    let name = digest.to_string();
    Path::from_iter([&name[..2], &name])
}
