//! Which answers are compressed, and that nothing is given away by it.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};

fn accepting(actor: &Actor, coding: &str) -> Actor {
    actor.clone().with("accept-encoding", coding)
}

#[actix_web::test]
async fn pages_and_json_are_compressed_for_clients_that_accept_it() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 60).await;
    for address in [
        "/".to_owned(),
        format!("/runs/{}/problems", made.run),
        format!("/api/v1/runs/{}/problems", made.run),
        "/api/v1/openapi.json".to_owned(),
    ] {
        let plain = reader.get(&address).await.expect(200);
        assert_eq!(plain.header("content-encoding"), "", "{address}");
        for (coding, magic) in [("gzip", &[0x1f, 0x8b][..]), ("br", &[]), ("zstd", &[0x28, 0xb5])] {
            let reply = accepting(&reader, coding).get(&address).await.expect(200);
            assert_eq!(reply.header("content-encoding"), coding, "{address}");
            let varies =
                |by: &actix_web::http::header::HeaderValue| by.as_bytes().eq_ignore_ascii_case(b"accept-encoding");
            assert!(reply.headers.get_all("vary").any(varies), "{reply:?}");
            assert!(reply.body.starts_with(magic), "{address}");
            assert!(reply.body.len() < plain.body.len() / 2, "{address}, {coding}: {}", reply.body.len());
        }
    }
    let known = accepting(&reader, "gzip").get("/api/v1/runs").await.expect(200);
    let unchanged = accepting(&reader, "gzip").with("if-none-match", known.header("etag"));
    unchanged.get("/api/v1/runs").await.expect(304);
    server.stop().await;
}

#[actix_web::test]
async fn streams_files_and_what_is_compressed_already_are_sent_as_they_are() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 60).await;
    let greedy = accepting(&reader, "gzip, br, zstd");
    for address in [
        format!("/runs/{}/export/problems.jsonl", made.run),
        format!("/runs/{}/export/problems.parquet", made.run),
        format!("/runs/{}/export.parquet.zip", made.run),
        "/api/v1/health".to_owned(),
    ] {
        let reply = greedy.get(&address).await;
        assert_eq!(reply.header("content-encoding"), "", "{address}");
    }
    let events = greedy.open(Method::GET, &format!("/api/v1/runs/{}/events", made.run), None).await;
    assert_eq!(events.headers().get("content-type").map(|kind| kind.as_bytes()), Some(&b"text/event-stream"[..]));
    assert_eq!(events.headers().get("content-encoding"), None);
    drop(events);
    let page = String::from_utf8(reader.get("/").await.expect(200).body.to_vec()).expect("UTF-8");
    let script = page.split('"').find(|part| part.starts_with("/assets/")).expect("a script").to_owned();
    let asset = accepting(&reader, "br").get(&script).await.expect(200);
    assert_eq!(asset.header("content-encoding"), "br");
    server.stop().await;
}

#[actix_web::test]
async fn no_two_answers_have_the_same_text_for_the_secret_of_a_session() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (browser, _) = crate::login::session_of(&server, &writer).await;
    let shown = async || {
        let page = browser.clone().with("accept", "text/html").get("/").await.expect(200);
        let text = String::from_utf8(page.body.to_vec()).expect("UTF-8");
        let mut secrets: Vec<String> = ["name=\"csrf-token\" content=\"", "name=\"csrf_token\" value=\""]
            .iter()
            .filter_map(|before| Some(text.split_once(before)?.1.split('"').next()?.to_owned()))
            .collect();
        assert_eq!(secrets.len(), 2, "{text}");
        secrets.pop().expect("a secret")
    };
    let (one, other) = (shown().await, shown().await);
    assert_ne!(one, other);
    for secret in [one, other] {
        let armed = browser.clone().with("x-csrf-token", secret);
        let body = serde_json::json!({"name": uuid::Uuid::now_v7().to_string()});
        armed.post("/api/v1/experiments", &body).await.expect(201);
    }
    server.stop().await;
}
