//! Artifacts as a worker of another machine has them: through the server.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_store::StoreError;
use lyceum_store::artifact::{ArtifactStore, RemoteArtifacts};
use lyceum_store::tokens::Scope;

use crate::harness::TestServer;

fn remote(server: &TestServer, bearer: &str) -> ArtifactStore {
    ArtifactStore::remote(RemoteArtifacts::new(&format!("{}/", server.base()), bearer))
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
    assert_eq!(
        there.put(ArtifactKind::Tokens, bytes.clone()).await.unwrap(),
        digest,
        "once more is harmless"
    );

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
    let refused = remote(&server, &reader)
        .put(ArtifactKind::Tokens, vec![1])
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("403"), "{refused}");
    let unknown = remote(&server, "lyc_unknown").get(Digest::of(b"x")).await.unwrap_err();
    assert!(unknown.to_string().contains("401"), "{unknown}");
    let writer = server.actor(Scope::Write).await.bearer();
    let large = vec![0; crate::harness::BODY_LIMIT + 1];
    let large = remote(&server, &writer)
        .put(ArtifactKind::Tokens, large)
        .await
        .unwrap_err();
    assert!(large.to_string().contains("413"), "{large}");

    let there = remote(&server, &writer);
    server.stop().await;
    let gone = there.get(Digest::of(b"x")).await.unwrap_err();
    assert!(
        gone.is_transient() && gone.to_string().contains("cannot reach"),
        "{gone}"
    );
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
