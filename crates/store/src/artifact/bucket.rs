//! Buckets of object stores with the S3 API: AWS, MinIO, Ceph, R2 and others.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

use super::ArtifactPlace;
use crate::{Result, StoreError};

/// Written to check that writing works.
const PROBE: &str = "lyceum";
/// Time limit of a request with its retries; after that the item that needs it fails and is retried.
const PATIENCE: Duration = Duration::from_secs(30);
/// A request is given up after so long without a byte, however long it takes as a whole: an artifact may be large and the
/// connection slow, and a server says nothing while it puts the parts of an upload together.
const SILENCE: &str = "5 minutes";
/// The longest that a request may take, which has to be some time.
const LONGEST: &str = "1 day";

/// Opens the bucket and writes a small object, so a wrong key or a missing bucket is reported at once. `options` are
/// the environment variables of the AWS tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, ..); others are
/// ignored.
pub(super) async fn open(
    bucket: &str,
    prefix: &str,
    options: impl IntoIterator<Item = (String, String)>,
) -> Result<Arc<dyn ObjectStore>> {
    // The rest of Lyceum uses the same TLS provider; one that is already installed is kept.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig { retry_timeout: PATIENCE, max_retries: 5, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::new()
        .with_retry(retry)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::ReadTimeout), SILENCE)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), LONGEST);
    for (name, value) in options {
        let key = name.strip_prefix("AWS_").and_then(|_| name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().ok());
        if let Some(key) = key {
            builder = builder.with_config(key, value);
        }
    }
    let refused = |source| StoreError::Bucket {
        place: ArtifactPlace::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() },
        source,
    };
    let store = builder.with_bucket_name(bucket).build().map_err(refused)?;
    let store: Arc<dyn ObjectStore> =
        if prefix.is_empty() { Arc::new(store) } else { Arc::new(PrefixStore::new(store, prefix)) };
    let probe = PutPayload::from_static(b"Artifacts of Lyceum, each by the SHA-256 of its content.\n");
    store.put(&Path::from(PROBE), probe).await.map_err(refused)?;
    Ok(store)
}
