//! What the files of a base on this machine rule out is refused when a run is created.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::diversity::document;
use crate::harness::TestServer;

fn masked(base: &str, dropout: &Value) -> Value {
    let mut body = document("masked");
    body["config"]["populations"]["main"]["base_model"]["name"] = json!(base);
    body["config"]["parameters"]["vocabulary_dropout"] = dropout.clone();
    body
}

#[actix_web::test]
async fn masks_that_cannot_be_are_refused_at_their_field() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let pointer = |field: &str| format!("/config/parameters/vocabulary_dropout/{field}");
    for (base, dropout, places) in [
        ("seedling", json!({"keep_rate": 0.9, "protected_ids": [3, 100_000]}), vec![pointer("protected_ids/1")]),
        ("seedling", json!({"keep_rate": 1e-6}), vec![pointer("keep_rate")]),
        ("Qwen/Qwen3-4B", json!({"keep_rate": 0.9, "protected_ids": [1_000_000]}), vec![pointer("protected_ids/0")]),
    ] {
        let reply = writer.post("/api/v1/runs", &masked(base, &dropout)).await.expect(422);
        assert_eq!(reply.places(), places, "{}", reply.text());
    }
    let unknown = masked("nobody/knows-it", &json!({"keep_rate": 0.9, "protected_ids": [1_000_000]}));
    writer.post("/api/v1/runs", &unknown).await.expect(201);
    let valid = masked("seedling", &json!({"keep_rate": 0.9, "protected_ids": [3], "protected_texts": ["<q>"]}));
    writer.post("/api/v1/runs", &valid).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn conversations_with_a_base_that_has_no_chat_template_are_refused_at_the_base() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let asked = |base: &str, set: &str| {
        let mut body = document("asked");
        body["config"]["populations"]["main"]["base_model"]["name"] = json!(base);
        body["config"]["parameters"]["prompts"]["set"] = json!(set);
        body
    };
    let reply = writer.post("/api/v1/runs", &asked("seedling", "rzero")).await.expect(422);
    assert_eq!(reply.places(), ["/config/populations/main/base_model/name"], "{}", reply.text());
    writer.post("/api/v1/runs", &asked("seedling", "seedling-math")).await.expect(201);
    writer.post("/api/v1/runs", &asked("nobody/knows-it", "rzero")).await.expect(201);
    server.stop().await;
}
