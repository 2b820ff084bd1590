//! Bodies that arrive slowly, or never whole.

use actix_web::http::Method;
use actix_web::web::{self, Bytes};
use lyceum_core::artifact::Digest;
use lyceum_server::lab::{BodyPace, LabSettings};
use lyceum_store::tokens::Scope;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::{Actor, OtherServer, TestServer};

const ROW: &str = "{\"question\": \"What is 1?\", \"answer\": \"#### 1\"}\n";
const IMPORT: &str = "/api/v1/datasets/import?purpose=training&format=gsm8k&name=";

/// What blocks, apart from the test's thread: that drives the database connections which the server uses.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    web::block(work).await.expect("a thread")
}

/// A request to `server` for which `length` bytes are announced and `sent` are sent.
async fn unfinished(base: &str, writer: &Actor, request: &str, length: usize, sent: Bytes) -> TcpStream {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).expect("a connection");
    let kind = if request.contains("/experiments") { "application/json" } else { "application/octet-stream" };
    let head = format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n",
        writer.bearer()
    );
    apart(move || {
        stream.write_all(head.as_bytes()).expect("a request");
        stream.write_all(&sent).expect("a part of its body");
        stream
    })
    .await
}

/// Returns once the server receives `count` large bodies.
pub(crate) async fn receives(reader: &Actor, count: usize) {
    let line = format!("lyceum_large_bodies {count}\n");
    while !reader.get("/metrics").await.expect(200).text().contains(&line) {
        tokio::task::yield_now().await;
    }
}

/// Transactions of the server's database connections.
pub(crate) async fn open_transactions(server: &TestServer) -> i64 {
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
                AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let open = sqlx::query_scalar(open).fetch_one(server.store.pool());
    open.await.expect("a count")
}

async fn import(writer: &Actor, name: &str) -> crate::harness::Reply {
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    lines.send(Method::POST, &format!("{IMPORT}{name}"), Some(ROW.as_bytes().to_vec())).await
}

#[actix_web::test]
async fn imports_that_trickle_hold_no_transaction_and_hinder_no_other() {
    let server = TestServer::start().await;
    let (slow, writer) = (server.actor(Scope::Write).await, server.actor(Scope::Write).await);
    let mut trickling = Vec::new();
    for number in 0..4 {
        let request = format!("POST {IMPORT}trickling-{number}");
        trickling.push(unfinished(&server.base(), &slow, &request, 10 * ROW.len(), Bytes::from(ROW)).await);
    }
    receives(&writer, 4).await;
    import(&writer, "whole").await.expect(201);
    assert_eq!(open_transactions(&server).await, 0);
    drop(trickling);
    receives(&writer, 0).await;
    let listed = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[actix_web::test]
async fn more_large_bodies_than_there_are_places_are_told_to_come_back() {
    let server =
        TestServer::with(|settings| LabSettings { large_bodies: 1, patience: Duration::ZERO, ..settings }).await;
    let writer = server.actor(Scope::Write).await;
    let trickling =
        unfinished(&server.base(), &writer, &format!("POST {IMPORT}trickling"), 10 * ROW.len(), Bytes::from("{")).await;
    receives(&writer, 1).await;
    let refused = import(&writer, "one").await.expect(503);
    assert_eq!(refused.problem(), "unavailable");
    assert_eq!(refused.header("retry-after"), "2");
    assert!(refused.text().contains("1 large bodies are being received"), "{refused:?}");
    let digest = Digest::of(b"weights");
    let artifact = format!("/api/v1/artifacts/{digest}?kind=adapter");
    let put = || async {
        let octets = writer.clone().with("content-type", "application/octet-stream");
        octets.send(Method::PUT, &artifact, Some(b"weights".to_vec())).await
    };
    put().await.expect(503);
    writer.post("/api/v1/experiments", &json!({"name": "small"})).await.expect(201);
    drop(trickling);
    receives(&writer, 0).await;
    put().await.expect(201);
    import(&writer, "one").await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn one_token_takes_half_of_the_places_and_nobody_those_of_workers() {
    let server =
        TestServer::with(|settings| LabSettings { large_bodies: 4, patience: Duration::ZERO, ..settings }).await;
    let actors = [server.actor(Scope::Write).await, server.actor(Scope::Admin).await];
    let mut trickling = Vec::new();
    for (number, actor) in actors.iter().enumerate() {
        for place in 0..2 {
            let request = format!("POST {IMPORT}trickling-{number}-{place}");
            trickling.push(unfinished(&server.base(), actor, &request, 10 * ROW.len(), Bytes::from("{")).await);
            receives(actor, 2 * number + place + 1).await;
        }
        let refused = import(actor, "third").await.expect(503);
        assert!(refused.text().contains("2 large bodies are being received with this token"), "{refused:?}");
    }
    let other = server.actor(Scope::Write).await;
    assert!(import(&other, "fifth").await.expect(503).text().contains("4 large bodies are being received, the"));
    let worker = server.actor(Scope::Worker).await.with("content-type", "application/octet-stream");
    let artifact = format!("/api/v1/artifacts/{}?kind=adapter", Digest::of(b"weights"));
    worker.send(Method::PUT, &artifact, Some(b"weights".to_vec())).await.expect(201);
    drop(trickling);
    receives(&other, 0).await;
    import(&actors[0], "third").await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn a_body_that_is_too_slow_is_refused() {
    let server = TestServer::with(|settings| LabSettings {
        body_pace: BodyPace { grace: Duration::ZERO, bytes_per_second: u32::MAX },
        ..settings
    })
    .await;
    let writer = server.actor(Scope::Write).await;
    let digest = Digest::of(b"weights");
    for request in [
        "POST /api/v1/experiments".to_owned(),
        format!("POST {IMPORT}slow"),
        format!("PUT /api/v1/artifacts/{digest}?kind=adapter"),
    ] {
        let mut stream = unfinished(&server.base(), &writer, &request, 1000, Bytes::from("{")).await;
        let answer = apart(move || {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer and the end");
            answer
        })
        .await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{request}: {answer}");
        assert!(answer.contains("urn:lyceum:problem:too-slow"), "{request}: {answer}");
        assert!(answer.contains("at least 4294967295 bytes a second"), "{request}: {answer}");
    }
    receives(&writer, 0).await;
    server.stop().await;
}

#[actix_web::test]
async fn unfinished_uploads_are_on_disk_and_not_in_memory() {
    // More than is written to the store at once.
    const SENT: usize = (8 << 20) + 1;
    const UPLOADS: usize = 4;
    let server = TestServer::start().await;
    let other = OtherServer::start(&server);
    let writer = server.actor(Scope::Write).await.at(other.base());
    let bytes = Bytes::from(vec![7; SENT]);
    let digest = Digest::of(&bytes);
    let request = format!("/api/v1/artifacts/{digest}?kind=adapter");
    let put = format!("PUT {request}");
    let upload = || unfinished(other.base(), &writer, &put, SENT + 1, bytes.clone());
    // The first one makes the allocator take what each of the others can use again.
    let mut uploads = vec![upload().await];
    receives(&writer, 1).await;
    let before = other.resident();
    for _ in 1..UPLOADS {
        uploads.push(upload().await);
    }
    receives(&writer, UPLOADS).await;
    // Nearly all of it has been taken from the sockets, whose buffers have a few megabytes.
    let held = other.resident().saturating_sub(before);
    assert!(held < 2 * SENT, "{held} bytes for {} uploads of {SENT} bytes", UPLOADS - 1);
    drop(uploads);
    let octets = writer.clone().with("content-type", "application/octet-stream");
    octets.send(Method::PUT, &request, Some(bytes.to_vec())).await.expect(201);
    let read = writer.get(&format!("/api/v1/artifacts/{digest}")).await.expect(200);
    assert!(read.body == bytes, "what was written in parts and sent in pieces is the same");
    drop(other);
    server.stop().await;
}
