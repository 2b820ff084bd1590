//! Rows of benchmarks, as one document and line by line.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::{
    benchmarks::{imported, row},
    harness::{BODY_LIMIT, TestServer},
};

#[actix_web::test]
async fn rows_of_a_suite_are_checked_before_any_is_kept() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([row(0), {"question": "?"}, row(0)]);
    let body = json!({"name": "x", "purpose": "benchmark", "suite": "gms8k", "rows": rows});
    let reply = writer.post("/api/v1/datasets", &body).await.expect(422);
    assert_eq!(reply.places(), ["/suite", "/rows/1", "/rows/2/task_id"]);
    assert!(reply.json().to_string().contains("did you mean `gsm8k`?"), "{reply:?}");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_are_sent_line_by_line_are_all_kept_or_none() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let address = "/api/v1/datasets/import?name=streamed&purpose=benchmark&suite=gsm8k&source=file";
    let send = |text: String| {
        let (lines, body) = (lines.clone(), Some(text.into_bytes()));
        async move { lines.send(Method::POST, address, body).await }
    };
    let line = |number: u32| serde_json::to_string(&row(number)).expect("JSON");
    let bad = send(format!("{}\n\n{{\"question\": \"?\"}}\n{}", line(0), line(0)))
        .await
        .expect(422);
    assert_eq!(bad.places(), ["/rows/1", "/rows/1"]);
    let told = bad.json().to_string();
    assert!(
        told.contains("line 3: missing field") && told.contains("line 4: `gsm8k/0` is already the task of line 1"),
        "{told}"
    );
    send("\n".to_owned()).await.expect(422);
    let large = send(" ".repeat(4 * BODY_LIMIT + 1)).await.expect(413);
    assert!(
        large.json().to_string().contains(&(4 * BODY_LIMIT).to_string()),
        "{large:?}"
    );
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]), "nothing was kept of any");

    let made = send(format!("{}\n{}\n{}", line(0), line(1), line(2)))
        .await
        .expect(201)
        .json();
    let whole = imported(&writer).await;
    assert_eq!(
        (&made["rows"], &made["sha256"]),
        (&json!(3), &whole["sha256"]),
        "as one document"
    );
    send(line(0)).await.expect(409);
    writer
        .send(Method::POST, address, Some(line(0).into_bytes()))
        .await
        .expect(415);
    server.stop().await;
}
