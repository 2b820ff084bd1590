//! Reading and writing artifacts.

use bytes::Bytes;
use lyceum_core::artifact::{ArtifactKind, Digest};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use sqlx::PgPool;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;

use super::{ArtifactPlace, bucket, stream};
use crate::{Remote, Result, StoreError};

/// Artifacts in a folder or an object store, usually with a row each, or those of a server.
#[derive(Clone, Debug)]
pub struct ArtifactStore(Backend);

#[derive(Clone, Debug)]
enum Backend {
    Objects {
        objects: Arc<dyn ObjectStore>,
        /// The database with their rows, if there is one.
        pool: Option<PgPool>,
    },
    Server(Remote),
}

impl ArtifactStore {
    /// Artifacts at `place`. Buckets are configured by the environment variables of the AWS tools.
    ///
    /// # Errors
    /// The folder cannot be created or opened; the bucket cannot be written.
    pub async fn open(place: &ArtifactPlace, pool: PgPool) -> Result<Self> {
        Ok(Self::new(objects(place).await?, pool))
    }

    /// Artifacts at `place` without a database, for work by hand. A server that uses the same place does not know of
    /// artifacts written here and never removes them.
    ///
    /// # Errors
    /// As [`ArtifactStore::open`].
    pub async fn unlisted(place: &ArtifactPlace) -> Result<Self> {
        let objects = objects(place).await?;
        Ok(Self(Backend::Objects { objects, pool: None }))
    }

    /// Artifacts in memory, dropped with the last handle.
    pub fn in_memory() -> Self {
        let objects = Arc::new(InMemory::new());
        Self(Backend::Objects { objects, pool: None })
    }

    /// Artifacts in a bucket, below `prefix`. `options` are named like the environment variables of the AWS tools.
    ///
    /// # Errors
    /// [`StoreError::Bucket`] if it cannot be written.
    pub async fn bucket(
        bucket: &str,
        prefix: &str,
        options: impl IntoIterator<Item = (String, String)>,
        pool: PgPool,
    ) -> Result<Self> {
        Ok(Self::new(bucket::open(bucket, prefix, options).await?, pool))
    }

    /// Artifacts below `folder`, which is created if missing, with no access for other users.
    ///
    /// # Errors
    /// The folder cannot be created or opened.
    pub fn folder(folder: &std::path::Path, pool: PgPool) -> Result<Self> {
        Ok(Self::new(in_folder(folder)?, pool))
    }

    /// Artifacts in any object store.
    pub fn new(objects: Arc<dyn ObjectStore>, pool: PgPool) -> Self {
        Self(Backend::Objects { objects, pool: Some(pool) })
    }

    /// Artifacts of a server, which also keeps their rows.
    pub fn remote(server: Remote) -> Self {
        Self(Backend::Server(server))
    }

    /// Writes `bytes` and returns their digest. Writing an artifact again is harmless.
    ///
    /// # Errors
    /// The bytes cannot be written, for example because the disk is full; nothing refers to them then.
    pub async fn put(&self, kind: ArtifactKind, bytes: impl Into<Bytes>) -> Result<Digest> {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        match &self.0 {
            Backend::Objects { objects, pool } => {
                if let Some(pool) = pool {
                    list(pool, digest, kind, bytes.len() as u64).await?;
                }
                objects.put(&place(digest), PutPayload::from(bytes)).await?;
            }
            Backend::Server(server) => {
                let path = format!("/api/v1/artifacts/{digest}?kind={}", kind.name());
                server.put(path, bytes).await?;
            }
        }
        Ok(digest)
    }

    /// Writes the `bytes` bytes of `file` from its start, whose digest is `digest` ([`digest_of`](super::digest_of)), a part
    /// at a time.
    ///
    /// # Errors
    /// As [`ArtifactStore::put`].
    pub async fn put_file(&self, kind: ArtifactKind, digest: Digest, file: &File, bytes: u64) -> Result<()> {
        let file = stream::at(file, 0)?;
        match &self.0 {
            Backend::Objects { objects, pool } => {
                if let Some(pool) = pool {
                    list(pool, digest, kind, bytes).await?;
                }
                stream::send(file, bytes, objects.as_ref(), &place(digest)).await
            }
            Backend::Server(server) => {
                let path = format!("/api/v1/artifacts/{digest}?kind={}", kind.name());
                server.put_file(path, file, bytes).await
            }
        }
    }

    /// Writes the bytes of `digest` to where `file` is, which is its end, a piece at a time, and returns their number.
    ///
    /// # Errors
    /// As [`ArtifactStore::get`]; or the file cannot be written. What was written by then is removed, so that it can be tried
    /// again.
    pub async fn get_file(&self, digest: Digest, file: &File) -> Result<u64> {
        let start = stream::place(file)?;
        let received = self.receive(digest, stream::at(file, start)?).await;
        if received.is_err() {
            stream::cut(file, start)?;
        }
        received
    }

    async fn receive(&self, digest: Digest, file: File) -> Result<u64> {
        let received = match &self.0 {
            Backend::Objects { objects, .. } => match objects.get(&place(digest)).await {
                Ok(object) => Some(stream::receive(object, file).await?),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            },
            Backend::Server(server) => server.get_file(format!("/api/v1/artifacts/{digest}"), file).await?,
        };
        match received {
            Some((found, bytes)) if found == digest => Ok(bytes),
            Some((found, _)) => Err(StoreError::Damaged { digest, found }),
            None => Err(StoreError::not_found("artifact", digest)),
        }
    }

    /// The bytes of `digest`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::Damaged`] if the bytes do not match the digest.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>> {
        let bytes = match &self.0 {
            Backend::Objects { objects, .. } => match objects.get(&place(digest)).await {
                Ok(object) => Some(object.bytes().await?.into()),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            },
            Backend::Server(server) => server.get(format!("/api/v1/artifacts/{digest}")).await?,
        };
        let bytes: Vec<u8> = bytes.ok_or_else(|| StoreError::not_found("artifact", digest))?;
        let found = Digest::of(&bytes);
        if found == digest { Ok(bytes) } else { Err(StoreError::Damaged { digest, found }) }
    }

    /// The objects and their rows, for collection; `None` for those of a server, which collects them itself.
    pub(super) fn objects(&self) -> Option<(&Arc<dyn ObjectStore>, &PgPool)> {
        match &self.0 {
            Backend::Objects { objects, pool } => Some((objects, pool.as_ref()?)),
            Backend::Server(_) => None,
        }
    }
}

/// Removes the object of `digest`, if it exists.
pub(super) async fn remove(objects: &Arc<dyn ObjectStore>, digest: Digest) -> Result<()> {
    match objects.delete(&place(digest)).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn objects(place: &ArtifactPlace) -> Result<Arc<dyn ObjectStore>> {
    match place {
        ArtifactPlace::Folder(folder) => in_folder(folder),
        ArtifactPlace::Bucket { bucket, prefix } => {
            let readable =
                |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
            bucket::open(bucket, prefix, std::env::vars_os().filter_map(readable)).await
        }
    }
}

fn in_folder(folder: &std::path::Path) -> Result<Arc<dyn ObjectStore>> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| object_store::Error::Generic { store: "folder", source: Box::new(source) })?;
    Ok(Arc::new(LocalFileSystem::new_with_prefix(folder)?))
}

/// Lists an artifact. This is done before its bytes are written: the row is young, so a collection that runs at the same
/// time leaves them alone. References to the artifact are only written when it is there.
async fn list(pool: &PgPool, digest: Digest, kind: ArtifactKind, bytes: u64) -> Result<()> {
    sqlx::query(
        "INSERT INTO artifacts (digest, kind, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (digest) DO UPDATE SET created_at = now(), removed_at = NULL",
    )
    .bind(digest.to_string())
    .bind(kind)
    .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
    .execute(pool)
    .await?;
    Ok(())
}

/// Folders by the first two letters, so none grows large.
fn place(digest: Digest) -> Path {
    let name = digest.to_string();
    Path::from_iter([&name[..2], &name])
}
