//! A bucket of a store that speaks S3: AWS, MinIO, Ceph, R2 and the like.

use object_store::{
    ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    path::Path,
    prefix::PrefixStore,
};
use std::{sync::Arc, time::Duration};

use super::ArtifactPlace;
use crate::{Result, StoreError};

/// What is written to see that it can be.
const PROBE: &str = "lyceum";
/// How long one request is tried; the item that needs it is tried again after that.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the bucket and writes a small object, so that a wrong key or a missing bucket is known before the first artifact.
/// `options` are environment variables of the AWS tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, ..); others are
/// left alone.
pub(super) async fn open(
    bucket: &str,
    prefix: &str,
    options: impl IntoIterator<Item = (String, String)>,
) -> Result<Arc<dyn ObjectStore>> {
    // The rest of Lyceum speaks TLS by the same provider. Whoever installed one before is welcome.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig {
        retry_timeout: PATIENCE,
        max_retries: 5,
        ..RetryConfig::default()
    };
    let mut builder = AmazonS3Builder::new().with_retry(retry);
    for (name, value) in options {
        let key = name
            .strip_prefix("AWS_")
            .and_then(|_| name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().ok());
        if let Some(key) = key {
            builder = builder.with_config(key, value);
        }
    }
    let refused = |source| StoreError::Bucket {
        place: ArtifactPlace::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        },
        source,
    };
    let store = builder.with_bucket_name(bucket).build().map_err(refused)?;
    let store: Arc<dyn ObjectStore> = if prefix.is_empty() {
        Arc::new(store)
    } else {
        Arc::new(PrefixStore::new(store, prefix))
    };
    let probe = PutPayload::from_static(b"Artifacts of Lyceum, each by the SHA-256 of its content.\n");
    store.put(&Path::from(PROBE), probe).await.map_err(refused)?;
    Ok(store)
}
