//! Alerts, and webhooks that are told of them.

use lyceum_server::lab::{LabSettings, Pace, WebhookSettings};
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::harness::{Actor, TestServer};
use crate::outline::attributes;

/// A message that a receiver got.
struct Message {
    headers: Vec<(String, String)>,
    body: Value,
}

impl Message {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// A receiver of webhooks that responds to each message with the next of these responses, then with 204.
fn receiver(responses: Vec<String>) -> (SocketAddr, Receiver<Message>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (send, got) = channel();
    thread::spawn(move || {
        let mut responses = responses.into_iter();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
            let mut headers = Vec::new();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some((name, value)) = line.trim_end().split_once(": ") {
                    headers.push((name.to_lowercase(), value.to_owned()));
                }
                line.clear();
            }
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let body = serde_json::from_slice(&body).unwrap_or_default();
            // Before the response, after which the sender counts it as delivered.
            if send.send(Message { headers, body }).is_err() {
                return;
            }
            let response = responses.next().unwrap_or_else(|| "204 No Content\r\n".to_owned());
            let _ = write!(stream, "HTTP/1.1 {response}content-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (address, got)
}

/// A server that alerts, and may send to these private hosts.
async fn alerting(hosts: &[&str]) -> TestServer {
    let webhooks = WebhookSettings {
        private_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        first_retry: Duration::from_millis(1),
        ..WebhookSettings::default()
    };
    TestServer::with(|settings| LabSettings {
        coordinate: Some(Pace { sweep: Duration::from_millis(20), ..Pace::default() }),
        webhooks,
        ..settings
    })
    .await
}

async fn webhook(admin: &Actor, url: &str, kinds: &[&str]) -> Value {
    let body = json!({"name": "hook", "url": url, "kinds": kinds});
    admin.post("/api/v1/webhooks", &body).await.expect(201).json()
}

/// A run, which fails.
async fn failing(server: &TestServer, name: &str) -> String {
    let writer = server.actor(Scope::Write).await;
    let body = json!({"preset": "small", "name": name});
    let run = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let id = run["id"].as_str().expect("an id").to_owned();
    let execution = lyceum_core::id::ExecutionId(id.parse().expect("an id"));
    lyceum_store::executions::fail(server.store.pool(), execution, "out of luck").await.expect("an update");
    id
}

/// The newest delivery to a webhook, once it is as wanted.
async fn delivery(admin: &Actor, webhook: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    let address = format!("/api/v1/webhooks/{}/deliveries", webhook["id"].as_str().expect("an id"));
    loop {
        let found = admin.get(&address).await.expect(200).json();
        if wanted(&found["items"][0]) {
            return found["items"][0].clone();
        }
    }
}

#[actix_web::test]
async fn a_receiver_that_fails_twice_gets_its_event_once() {
    let server = alerting(&["127.0.0.1"]).await;
    let admin = server.actor(Scope::Admin).await;
    let refusal = "500 Internal Server Error\r\n".to_owned();
    let (address, got) = receiver(vec![refusal.clone(), refusal]);
    let hook = webhook(&admin, &format!("http://{address}/hook"), &["failed"]).await;
    let run = failing(&server, "unlucky").await;
    let told = delivery(&admin, &hook, |delivery| delivery["state"] == "delivered").await;
    assert_eq!((&told["tries"], &told["status"]), (&json!(3), &json!(204)));

    let second = failing(&server, "unlucky too").await;
    delivery(&admin, &hook, |delivery| delivery["title"] == "unlucky too failed" && delivery["state"] == "delivered")
        .await;
    let messages: Vec<Message> = got.try_iter().collect();
    let runs: Vec<&str> = messages.iter().filter_map(|message| message.body["data"]["run"].as_str()).collect();
    assert_eq!(runs, [&run, &run, &run, &second], "two refusals, then one of each");
    let ids: Vec<&str> = messages.iter().map(|message| message.header("webhook-id")).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    assert_eq!(messages[0].body["type"], "failed");
    assert!(messages[0].body["data"]["detail"].as_str().is_some_and(|said| said.contains("out of luck")));
    assert!(messages.iter().all(|message| message.header("webhook-signature").starts_with("v1,")));
    let alerts = admin.get("/api/v1/alerts?kind=failed").await.expect(200).json();
    assert_eq!(alerts["items"].as_array().map(Vec::len), Some(2), "{alerts}");
    server.stop().await;
}

#[actix_web::test]
async fn private_addresses_and_redirects_are_refused() {
    let server = alerting(&["127.0.0.1"]).await;
    let admin = server.actor(Scope::Admin).await;
    for url in ["http://127.0.0.2/hook", "http://10.0.0.1/", "http://[::1]:80/", "http://169.254.169.254/latest"] {
        let refused = admin.post("/api/v1/webhooks", &json!({"name": "x", "url": url})).await.expect(422);
        assert_eq!(refused.places(), ["/url"], "{url}");
        assert!(refused.text().contains("private address"), "{refused:?}");
    }
    for url in ["ftp://example.org/", "hook", "http://me:secret@127.0.0.1/"] {
        let refused = admin.post("/api/v1/webhooks", &json!({"name": "x", "url": url})).await.expect(422);
        assert_eq!(refused.places(), ["/url"], "{url}");
    }
    let (elsewhere, reached) = receiver(Vec::new());
    let to = format!("307 Temporary Redirect\r\nlocation: http://127.0.0.1:{}/hook\r\n", elsewhere.port());
    let (address, got) = receiver(vec![to; 1000]);
    let hook = webhook(&admin, &format!("http://{address}/hook"), &["failed"]).await;
    failing(&server, "unlucky").await;
    let told = delivery(&admin, &hook, |delivery| delivery["tries"].as_i64() > Some(1)).await;
    let why = told["error"].as_str().expect("a reason");
    assert!(why.contains(&format!("redirects to http://{elsewhere}/hook")), "{told}");
    assert!(got.try_iter().next().is_some() && reached.try_iter().next().is_none());
    server.stop().await;
}

#[actix_web::test]
async fn ends_of_runs_and_lost_workers_are_alerts_once_each() {
    let server = alerting(&[]).await;
    let reader = server.actor(Scope::Read).await;
    let run = failing(&server, "<b>hostile</b>").await;
    sqlx::query(
        "INSERT INTO workers (id, name, host, device, kinds, state, stopped_at) VALUES
             ('00000000-0000-4000-8000-000000000001', 'bench', 'here', 'cpu', '{verify}', 'lost', now())",
    )
    .execute(server.store.pool())
    .await
    .expect("a worker");
    let kinds = loop {
        let found = reader.get("/api/v1/alerts").await.expect(200).json();
        let items = found["items"].as_array().cloned().unwrap_or_default();
        if items.len() >= 2 {
            break items.iter().map(|alert| alert["kind"].clone()).collect::<Vec<_>>();
        }
    };
    assert!(kinds.contains(&json!("failed")) && kinds.contains(&json!("worker_lost")), "{kinds:?}");
    let of_run = reader.get(&format!("/api/v1/alerts?run={run}")).await.expect(200).json();
    assert_eq!(of_run["items"].as_array().map(Vec::len), Some(1), "{of_run}");
    let page = reader.clone().with("accept", "text/html").get("/alerts").await.expect(200).text();
    assert!(page.contains("&#60;b&#62;hostile") && !page.contains("<b>hostile"), "{page}");
    let shown = reader.get("/alerts.json").await.expect(200).json();
    let items = shown["items"].as_array().expect("alerts");
    let lost = items.iter().find(|alert| alert["kind"] == "worker_lost");
    let title = lost.and_then(|alert| alert["title"].as_str());
    assert!(title.is_some_and(|title| title.contains("bench")), "{shown}");
    assert_eq!(shown["webhooks"], json!(null), "only admins");
    assert_eq!(attributes(&page, "data-action"), Vec::<String>::new(), "only admins");
    server.stop().await;
}

#[actix_web::test]
async fn running_runs_are_among_the_metrics_for_monitoring() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = writer.post("/api/v1/runs", &json!({"preset": "small", "name": "a\"b"})).await.expect(201).json();
    let text = writer.get("/metrics").await.expect(200).text();
    let id = run["id"].as_str().expect("an id");
    let line = format!("lyceum_run_steps{{run=\"{id}\",name=\"a\\\"b\",recipe=\"scripted\"}} 3\n");
    assert!(text.contains(&line), "{text}");
    server.stop().await;
}
