//! Requests that are made to stop the server, or to keep it busy.

use actix_web::http::Method;
use actix_web::rt::net::TcpStream;
use actix_web::web;
use futures::future::join;
use lyceum_store::tokens::Scope;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{BODY_LIMIT, TestServer, config};

/// A server that takes bodies of a megabyte, as one does by default.
async fn server() -> TestServer {
    TestServer::with(|mut settings| {
        settings.body_limit = 1 << 20;
        settings
    })
    .await
}

#[actix_web::test]
async fn deep_templates_are_refused_at_their_place_and_the_server_goes_on() {
    let server = server().await;
    let writer = server.actor(Scope::Write).await;
    let deep = |template: String| {
        let mut config = config();
        config["recipe"] = json!("azr");
        config["populations"]["main"]["members"] = json!([{"roles": ["proposer", "solver"], "count": 1}]);
        config["parameters"] = json!({"prompts": {"templates": {"solve_code_o": template}}});
        json!({ "config": config })
    };
    for template in [
        format!("{{{{ {}program }}}}", "not ".repeat(8_000)),
        format!("{{{{ program{} }}}}", ".a".repeat(8_000)),
        format!("{{% if 0 %}}{{{{ {}1{} }}}}{{% endif %}}", "[".repeat(20_000), "]".repeat(20_000)),
        "{{ range(10)|slice(100000000) }}".to_owned(),
        "{% set a = program %}".to_owned() + &"{% set a = a ~ a %}".repeat(40),
    ] {
        for address in ["/api/v1/runs?dry_run=true", "/api/v1/runs"] {
            let reply = writer.post(address, &deep(template.clone())).await.expect(422);
            let place = "/config/parameters/prompts/templates/solve_code_o".to_owned();
            assert!(reply.places().contains(&place), "{reply:?}");
        }
    }
    let runs = writer.get("/api/v1/runs").await.expect(200).json();
    assert_eq!(runs["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn deep_documents_and_paths_are_refused() {
    let server = server().await;
    let writer = server.actor(Scope::Write).await;
    let path = vec!["a"; 50_000].join(".");
    let reply = writer
        .post("/api/v1/runs?dry_run=true", &json!({"config": config(), "overrides": {path: 1}}))
        .await
        .expect(422);
    assert_eq!(reply.places(), ["/overrides"]);
    assert!(reply.text().contains("99999 bytes: at most 1000"), "{reply:?}");
    for (depth, status) in [(120, 422), (20_000, 400)] {
        let config = config().to_string();
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body =
            format!("{{\"config\": {config}, \"overrides\": {{\"parameters.spec.a.b.c.d\": {nested}, \"x\": 1}}}}");
        let reply = writer.send(Method::POST, "/api/v1/runs?dry_run=true", Some(body.into_bytes())).await;
        assert_eq!(reply.status.as_u16(), status, "{depth}: {reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn many_unknown_overrides_are_few_faults() {
    let server = server().await;
    let writer = server.actor(Scope::Write).await;
    let unknown =
        |count: usize| -> Map<String, Value> { (0..count).map(|at| (format!("unknown{at}"), json!(1))).collect() };
    let body = |count| json!({"config": config(), "overrides": unknown(count)});
    let address = "/api/v1/runs?dry_run=true";
    let reply = writer.post(address, &body(1_000)).await.expect(422);
    let places = reply.places();
    assert_eq!(places.len(), 101);
    assert!(places.contains(&"/overrides/unknown100".to_owned()), "{places:?}");
    assert!(reply.text().contains("900 more fields are unknown"), "{reply:?}");
    let reply = writer.post(address, &body(40_000)).await.expect(422);
    assert_eq!(reply.places(), ["/overrides"]);
    server.stop().await;
}

/// A named pipe. What resolves a config that names it goes on once the returned path was written to.
fn gate(server: &TestServer, name: &str) -> (PathBuf, Value) {
    let path = server.folder().join(name);
    mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
    let mut config = config();
    config["parameters"] = json!({"spec": {"gate": path}});
    (path, json!({ "config": config }))
}

/// The pipe's end, once somebody reads from the other.
async fn reached(gate: &Path) -> File {
    let gate = gate.to_owned();
    let opened = web::block(move || OpenOptions::new().write(true).open(gate));
    opened.await.expect("a thread").expect("a pipe")
}

#[actix_web::test]
async fn while_a_config_is_checked_other_requests_are_served() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (gate, body) = gate(&server, "gate");
    let checked = writer.post("/api/v1/runs?dry_run=true", &body);
    let others = async {
        let open = reached(&gate).await;
        writer.get("/healthz").await.expect(200);
        writer.get("/api/v1/runs").await.expect(200);
        drop(open);
    };
    join(checked, others).await.0.expect(200);
    server.stop().await;
}

#[actix_web::test]
async fn a_check_that_waits_for_its_turn_goes_with_its_request() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let address = "/api/v1/runs?dry_run=true";
    let [(one, first), (two, second), (three, third)] = ["one", "two", "three"].map(|name| gate(&server, name));
    let others = async {
        let open = (reached(&one).await, reached(&two).await);
        let base = server.base();
        let mut waiting = TcpStream::connect(base.trim_start_matches("http://")).await.expect("a connection");
        let third = third.to_string();
        let request = format!(
            "POST {address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{third}",
            writer.bearer(),
            third.len()
        );
        waiting.write_all(request.as_bytes()).await.expect("a request");
        // The server has one thread, so the request before this one waits for its turn now.
        writer.get("/healthz").await.expect(200);
        waiting.shutdown().await.expect("an end");
        // The server has seen it once it ends the connection as well, without an answer.
        assert_eq!(waiting.read_to_end(&mut Vec::new()).await.expect("its end"), 0);
        writer.get("/healthz").await.expect(200);
        drop(open);
        writer.post(address, &json!({"config": config()})).await.expect(200);
    };
    let (checks, ()) = join(join(writer.post(address, &first), writer.post(address, &second)), others).await;
    checks.0.expect(200);
    checks.1.expect(200);
    let read = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&three);
    assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::ENXIO), "nobody reads it");
    server.stop().await;
}

#[actix_web::test]
async fn a_large_fault_is_told_in_short() {
    let server = server().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"config": config(), "overrides": {"seed": "x".repeat(10 * BODY_LIMIT)}});
    let reply = writer.post("/api/v1/runs?dry_run=true", &body).await.expect(422);
    assert!(reply.body.len() < BODY_LIMIT, "{} bytes", reply.body.len());
    server.stop().await;
}
