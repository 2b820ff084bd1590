//! Artifacts and dataset rows for a worker on another machine: through the server.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::dataset::Purpose;
use lyceum_core::id::DatasetId;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::datasets::{self, NewDataset};
use lyceum_store::tokens::Scope;
use lyceum_store::{Remote, StoreError};

use crate::harness::TestServer;

fn remote(server: &TestServer, bearer: &str) -> ArtifactStore {
    ArtifactStore::remote(Remote::new(&format!("{}/", server.base()), bearer))
}

#[actix_web::test]
async fn what_a_remote_worker_writes_the_server_has_and_the_other_way_round() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await.bearer();
    let there = remote(&server, &writer);
    let bytes: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();

    let digest = there.put(ArtifactKind::Tokens, bytes.clone()).await.unwrap();
    assert_eq!(digest, Digest::of(&bytes));
    assert_eq!(server.artifacts.get(digest).await.unwrap(), bytes);
    assert_eq!(there.put(ArtifactKind::Tokens, bytes.clone()).await.unwrap(), digest, "once more is harmless");

    let other = server.artifacts.put(ArtifactKind::Adapter, vec![7; 100]).await.unwrap();
    assert_eq!(there.get(other).await.unwrap(), [7; 100]);
    let missing = there.get(Digest::of(b"missing")).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "{missing}");
    server.stop().await;
}

#[actix_web::test]
async fn a_remote_worker_is_told_what_the_server_refuses() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await.bearer();
    let refused = remote(&server, &reader).put(ArtifactKind::Tokens, vec![1]).await.unwrap_err();
    assert!(refused.to_string().contains("403"), "{refused}");
    let unknown = remote(&server, "lyc_unknown").get(Digest::of(b"x")).await.unwrap_err();
    assert!(unknown.to_string().contains("401"), "{unknown}");
    let writer = server.actor(Scope::Write).await.bearer();
    let large = vec![0; crate::harness::BODY_LIMIT + 1];
    let large = remote(&server, &writer).put(ArtifactKind::Tokens, large).await.unwrap_err();
    assert!(large.to_string().contains("413"), "{large}");

    let there = remote(&server, &writer);
    server.stop().await;
    let gone = there.get(Digest::of(b"x")).await.unwrap_err();
    assert!(gone.is_transient() && gone.to_string().contains("cannot reach"), "{gone}");
}

#[actix_web::test]
async fn a_damaged_artifact_is_not_taken_for_the_one_that_was_asked_for() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await.bearer();
    let digest = server.artifacts.put(ArtifactKind::Adapter, vec![1; 50]).await.unwrap();
    let name = digest.to_string();
    let file = server.folder().join("artifacts").join(&name[..2]).join(&name);
    std::fs::write(file, [2; 50]).unwrap();
    let damaged = remote(&server, &writer).get(digest).await.unwrap_err();
    assert!(damaged.is_transient(), "another copy may be whole: {damaged}");
    server.stop().await;
}

#[actix_web::test]
async fn the_requested_rows_of_a_dataset_are_read_page_by_page() {
    let server = TestServer::start().await;
    let rows: Vec<_> = (0..230).map(|row| serde_json::json!({ "question": row })).collect();
    let new =
        NewDataset { name: "rows", purpose: Purpose::Training, suite: None, source: "", revision: None, rows: &rows };
    let mut tx = server.store.pool().begin().await.unwrap();
    let id = DatasetId(datasets::create(&mut tx, &new).await.unwrap().id);
    tx.commit().await.unwrap();
    let there = Remote::new(&server.base(), &server.actor(Scope::Read).await.bearer());
    let slice = async |first, count| datasets::remote_slice(&there, id, first, count).await.unwrap();
    assert_eq!(slice(95, 120).await, rows[95..215]);
    assert_eq!(slice(0, 2).await, rows[..2]);
    assert_eq!(slice(225, 10).await, rows[225..]);
    let unknown = DatasetId(uuid::Uuid::nil());
    let missing = datasets::remote_slice(&there, unknown, 0, 1).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "{missing}");
    server.stop().await;
}
