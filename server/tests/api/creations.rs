//! Creations that are asked for twice.

use futures::future::join_all;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::harness::{TestServer, config};

#[actix_web::test]
async fn the_same_request_under_the_same_key_happens_once_and_is_answered_alike() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let keyed = writer.clone().with("idempotency-key", "one");
    for (path, body) in [
        ("/api/v1/runs", json!({"config": config()})),
        ("/api/v1/experiments", json!({"name": "once"})),
        (
            "/api/v1/datasets",
            json!({"name": "once", "purpose": "seeds", "rows": [{"snippet": "def f(a):\n return a", "input": "1"}]}),
        ),
    ] {
        let keyed = writer.clone().with("idempotency-key", path);
        let first = keyed.post(path, &body).await.expect(201);
        let second = keyed.post(path, &body).await.expect(201);
        assert_eq!(first.json(), second.json(), "{path}");
        assert_eq!((first.header("idempotency-replayed"), second.header("idempotency-replayed")), ("", "true"));
        let listed = writer.get(path).await.expect(200).json();
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{path}");
    }
    keyed.post("/api/v1/experiments", &json!({"name": "a"})).await.expect(201);
    let other = keyed.post("/api/v1/experiments", &json!({"name": "b"})).await.expect(422);
    assert!(other.json()["detail"].as_str().is_some_and(|said| said.contains("another request")), "{other:?}");
    let dry = keyed.post("/api/v1/runs?dry_run=true", &json!({"config": config()})).await.expect(200);
    assert!(dry.json()["config"].is_object());
    server.stop().await;
}

/// What was valid when it was asked for first may no longer be; the answer stays the same.
#[actix_web::test]
async fn an_answer_comes_again_when_the_request_is_valid_no_longer() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    writer.post("/api/v1/experiments", &json!({"name": "gone"})).await.expect(201);
    let keyed = writer.clone().with("idempotency-key", "once");
    let asked = json!({"config": config(), "experiment": "gone"});
    let first = keyed.post("/api/v1/runs", &asked).await.expect(201);
    let run = first.json()["id"].as_str().expect("an id").to_owned();
    writer.act(&format!("/api/v1/runs/{run}/cancel")).await.expect(202);
    writer.delete(&format!("/api/v1/runs/{run}")).await.expect(204);
    let experiments = writer.get("/api/v1/experiments").await.expect(200).json();
    let experiment = experiments["items"][0]["id"].as_str().expect("an id").to_owned();
    writer.delete(&format!("/api/v1/experiments/{experiment}")).await.expect(204);
    writer.post("/api/v1/runs", &asked).await.expect(422);
    let again = keyed.post("/api/v1/runs", &asked).await.expect(201);
    assert_eq!((again.json(), again.header("idempotency-replayed")), (first.json(), "true"));
    keyed.post("/api/v1/runs?dry_run=true", &asked).await.expect(422);
    server.stop().await;
}

#[actix_web::test]
async fn a_key_belongs_to_its_token() {
    let server = TestServer::start().await;
    for name in ["one", "two"] {
        let keyed = server.actor(Scope::Write).await.with("idempotency-key", "shared");
        keyed.post("/api/v1/experiments", &json!({"name": name})).await.expect(201);
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_failed_may_be_tried_again_under_its_key() {
    let server = TestServer::start().await;
    let keyed = server.actor(Scope::Write).await.with("idempotency-key", "again");
    let body = json!({"config": config(), "experiment": "later"});
    keyed.post("/api/v1/runs", &body).await.expect(422);
    server.actor(Scope::Write).await.post("/api/v1/experiments", &json!({"name": "later"})).await.expect(201);
    keyed.post("/api/v1/runs", &body).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn while_a_request_is_under_way_its_key_is_taken() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let mut under_way = server.store.pool().begin().await.expect("a transaction");
    let token = writer.token_id.expect("a token");
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("lyceum.idempotency/{token}/busy"))
        .execute(&mut *under_way)
        .await
        .expect("a lock");
    let keyed = writer.with("idempotency-key", "busy");
    keyed.post("/api/v1/experiments", &json!({"name": "x"})).await.expect(409);
    under_way.rollback().await.expect("the end");
    keyed.post("/api/v1/experiments", &json!({"name": "x"})).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn of_many_requests_at_once_one_creates() {
    let server = TestServer::start().await;
    let keyed = server.actor(Scope::Write).await.with("idempotency-key", "race");
    let body = json!({"name": "raced"});
    let replies = join_all((0..20).map(|_| keyed.post("/api/v1/experiments", &body))).await;
    assert!(replies.iter().all(|reply| matches!(reply.status.as_u16(), 201 | 409)), "{replies:?}");
    let made: Vec<Value> =
        replies.iter().filter(|reply| reply.status == 201).map(|reply| reply.json()["id"].clone()).collect();
    assert!(!made.is_empty() && made.iter().all(|id| *id == made[0]), "{made:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_key_that_is_none_and_a_name_that_is_taken_are_refused() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let long = writer.clone().with("idempotency-key", "k".repeat(256));
    let reply = long.post("/api/v1/experiments", &json!({"name": "x"})).await.expect(400);
    assert_eq!(reply.places(), ["idempotency-key"]);
    writer.post("/api/v1/experiments", &json!({"name": "x"})).await.expect(201);
    assert_eq!(writer.post("/api/v1/experiments", &json!({"name": "x"})).await.expect(409).problem(), "taken");
    server.stop().await;
}
