//! `HEAD` is answered as `GET` is, without the body.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;

use crate::fixtures::filled;
use crate::harness::TestServer;

#[actix_web::test]
async fn head_tells_what_get_would_and_sends_nothing() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let run = filled(&server, 2).await.run;
    for address in [
        "/".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}.json"),
        format!("/api/v1/runs/{run}"),
        format!("/runs/{run}/export/problems.jsonl"),
        "/runs/nobody".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let whole = reader.get(&address).await;
        let head = reader.send(Method::HEAD, &address, None).await;
        assert_eq!(head.status, whole.status, "{address}");
        assert!(head.body.is_empty() && !whole.body.is_empty(), "{address}");
        assert_eq!(head.header("content-type"), whole.header("content-type"), "{address}");
        if !head.header("content-length").is_empty() {
            assert_eq!(head.header("content-length"), whole.body.len().to_string(), "{address}");
        }
    }
    let stream = format!("/api/v1/runs/{run}/events");
    let head = reader.send(Method::HEAD, &stream, None).await.expect(200);
    assert_eq!((head.header("content-type"), head.body.len()), ("text/event-stream", 0));
    server.anonymous().send(Method::HEAD, "/api/v1/runs", None).await.expect(401);
    server.stop().await;
}
