//! Streams of events.

use actix_web::http::Method;
use actix_web::web::Bytes;
use futures::future::join_all;
use futures::{Stream, StreamExt as _};
use lyceum_core::id::ExecutionId;
use lyceum_server::lab::Pace;
use lyceum_store::event;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::pin::Pin;

use crate::harness::{Actor, TestServer};

/// An event as it is sent.
#[derive(Debug, PartialEq)]
struct Received {
    id: i64,
    kind: String,
    data: Value,
}

/// A stream that is open.
struct Watching {
    stream: Pin<Box<dyn Stream<Item = Bytes>>>,
    text: String,
    comments: usize,
}

impl Watching {
    async fn open(actor: &Actor, path: &str) -> Self {
        let response = actor.open(Method::GET, path, None).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers().get("content-type").map(|kind| kind.as_bytes()), Some(&b"text/event-stream"[..]));
        Self { stream: Box::pin(response.map(|chunk| chunk.expect("a chunk"))), text: String::new(), comments: 0 }
    }

    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Received> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                match (field("id: "), field("event: "), field("data: ")) {
                    (Some(id), Some(kind), Some(data)) => {
                        let (id, data) = (id.parse().expect("a number"), serde_json::from_str(&data).expect("JSON"));
                        return Some(Received { id, kind, data });
                    }
                    _ => self.comments += usize::from(block.starts_with(':')),
                }
            }
            self.text.push_str(std::str::from_utf8(&self.stream.next().await?).expect("text"));
        }
    }

    async fn rest(mut self) -> Vec<Received> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
        }
        all
    }
}

async fn run(server: &TestServer) -> (ExecutionId, String) {
    let writer = server.actor(Scope::Write).await;
    let run = writer.post("/api/v1/runs", &json!({"preset": "small"})).await.expect(201).json();
    let id: ExecutionId = run["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    (id, format!("/api/v1/runs/{id}/events"))
}

async fn append(server: &TestServer, run: ExecutionId, count: usize) {
    for n in 0..count {
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        event::append(&mut tx, run, "step_finished", &json!({"step": n})).await.expect("an event");
        tx.commit().await.expect("a commit");
    }
}

#[actix_web::test]
async fn a_stream_begins_with_what_there_is_goes_on_with_what_happens_and_ends_with_the_run() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (id, address) = run(&server).await;
    append(&server, id, 2).await;
    let mut watching = Watching::open(&writer, &address).await;
    let first = watching.next().await.expect("an event");
    assert_eq!((first.id, first.kind.as_str(), &first.data["number"]), (1, "created", &json!(1)));
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(2));
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(3));
    append(&server, id, 1).await;
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(4));
    writer.act(&address.replace("/events", "/cancel")).await.expect(202);
    let last = watching.next().await.expect("an event");
    assert_eq!((last.id, last.kind.as_str(), &last.data["data"]["state"]), (5, "state", &json!("cancelled")));
    assert_eq!(watching.next().await, None, "the stream ends with the run");
    server.stop().await;
}

#[actix_web::test]
async fn a_stream_resumes_where_it_was_left() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let (id, address) = run(&server).await;
    append(&server, id, 600).await;
    server.actor(Scope::Write).await.act(&address.replace("/events", "/cancel")).await.expect(202);
    let whole = Watching::open(&reader, &address).await.rest().await;
    assert_eq!(whole.iter().map(|sent| sent.id).collect::<Vec<_>>(), (1..=602).collect::<Vec<_>>());
    let resumed = Watching::open(&reader.clone().with("last-event-id", "300"), &address).await.rest().await;
    assert_eq!(resumed, whole[300..]);
    let after = Watching::open(&reader, &format!("{address}?after=300")).await.rest().await;
    assert_eq!(after, resumed);
    // The header is what a browser's EventSource sends when it comes back to the address that it first had.
    let both = Watching::open(&reader.clone().with("last-event-id", "601"), &format!("{address}?after=300")).await;
    assert_eq!(both.rest().await.len(), 1);
    reader.clone().with("last-event-id", "602").get(&address).await.expect(204);
    reader.clone().with("last-event-id", "x").get(&address).await.expect(400);
    reader.get(&format!("{address}?after=-1")).await.expect(400);
    server.stop().await;
}

#[actix_web::test]
async fn events_after_the_end_do_not_keep_a_stream_open() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (id, address) = run(&server).await;
    writer.act(&address.replace("/events", "/cancel")).await.expect(202);
    // As the evaluation at the end of a run does, here more than one reading takes.
    append(&server, id, 1_200).await;
    let whole = Watching::open(&writer, &address).await.rest().await;
    assert_eq!(whole.iter().map(|sent| sent.id).collect::<Vec<_>>(), (1..=1_202).collect::<Vec<_>>());
    let rest = Watching::open(&writer, &format!("{address}?after=2")).await.rest().await;
    assert_eq!(rest, whole[2..]);
    writer.get(&format!("{address}?after=1202")).await.expect(204);
    server.stop().await;
}

#[actix_web::test]
async fn events_are_also_to_be_had_as_json() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await.with("accept", "application/json");
    let (id, address) = run(&server).await;
    append(&server, id, 3).await;
    let all = reader.get(&address).await.expect(200).json();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(4));
    let rest = reader.get(&format!("{address}?after=3")).await.expect(200).json();
    assert_eq!(rest["items"][0]["number"], 4);
    server.stop().await;
}

#[actix_web::test]
async fn a_quiet_stream_shows_that_it_is_alive() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let (id, address) = run(&server).await;
    let mut watching = Watching::open(&reader, &format!("{address}?after=1")).await;
    // Comments come while nothing happens; they are counted as the event is waited for.
    while watching.comments < 2 {
        let chunk = watching.stream.next().await.expect("a comment");
        watching.comments += std::str::from_utf8(&chunk).expect("text").matches(": nothing new").count();
    }
    append(&server, id, 1).await;
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(2));
    server.stop().await;
}

#[actix_web::test]
async fn an_event_whose_notification_was_lost_is_found() {
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings {
        look_for_events: std::time::Duration::from_millis(20),
        ..settings
    })
    .await;
    let reader = server.actor(Scope::Read).await;
    let (id, address) = run(&server).await;
    let mut watching = Watching::open(&reader, &format!("{address}?after=1")).await;
    let written = "WITH number AS (UPDATE executions SET last_event = last_event + 1 WHERE id = $1 RETURNING last_event)
                   INSERT INTO events (execution_id, number, kind, data) SELECT $1, last_event, 'planned', '{}' FROM number";
    sqlx::query(written).bind(id.0).execute(server.store.pool()).await.expect("an event");
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(2));
    server.stop().await;
}

#[actix_web::test]
async fn two_hundred_streams_take_one_connection_and_read_each_event_once() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let (id, address) = run(&server).await;
    let mut streams = join_all((0..200).map(|_| Watching::open(&reader, &address))).await;
    let created = join_all(streams.iter_mut().map(Watching::next)).await;
    assert!(created.iter().all(|sent| sent.as_ref().is_some_and(|sent| sent.id == 1)));
    let listening: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%lyceum_events%'",
    )
    .fetch_one(server.store.pool())
    .await
    .expect("a count");
    assert_eq!(listening, 1);
    append(&server, id, 20).await;
    for _ in 0..20 {
        join_all(streams.iter_mut().map(Watching::next)).await;
    }
    server.actor(Scope::Write).await.act(&address.replace("/events", "/cancel")).await.expect(202);
    let ends = join_all(streams.into_iter().map(Watching::rest)).await;
    assert!(ends.iter().all(|rest| rest.len() == 1), "every stream hears the end and ends");
    server.stop().await;
}

#[actix_web::test]
async fn events_and_plans_are_heard_over_one_connection() {
    let server =
        TestServer::with(|settings| lyceum_server::lab::LabSettings { coordinate: Some(Pace::default()), ..settings })
            .await;
    let reader = server.actor(Scope::Read).await;
    let (id, address) = run(&server).await;
    let mut watching = Watching::open(&reader, &format!("{address}?after=1")).await;
    append(&server, id, 1).await;
    assert_eq!(watching.next().await.map(|sent| sent.id), Some(2));
    let listening: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    )
    .fetch_one(server.store.pool())
    .await
    .expect("a count");
    assert_eq!(listening, 1);
    server.stop().await;
}
