//! Rules about metrics, the alerts that they raise, and acknowledgement.

use lyceum_server::lab::{LabSettings, Pace};
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use crate::harness::{Actor, TestServer};
use crate::outline::attributes;

/// A server that looks for alerts all the time.
async fn alerting() -> TestServer {
    TestServer::with(|settings| LabSettings {
        coordinate: Some(Pace { sweep: Duration::from_millis(20), ..Pace::default() }),
        ..settings
    })
    .await
}

/// A run that nobody plans, with the tag `watched` and the metric `solve_rate`.
async fn paused(server: &TestServer, writer: &Actor, name: &str) -> Uuid {
    let body = json!({"preset": "small", "name": name, "tags": ["watched"]});
    let run = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let id = run["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    writer.act(&format!("/api/v1/runs/{id}/pause")).await.expect(202);
    sqlx::query("UPDATE executions SET metrics = '{reward,solve_rate}' WHERE id = $1")
        .bind(id)
        .execute(server.store.pool())
        .await
        .expect("metrics");
    id
}

/// Ends the run's step `step` with this solve rate.
async fn end_step(server: &TestServer, run: Uuid, step: i32, solve_rate: f64) {
    let db = server.store.pool();
    sqlx::query("INSERT INTO metrics (run_id, step, \"values\") VALUES ($1, $2, ARRAY[0, $3]::real[])")
        .bind(run)
        .bind(step)
        .bind(solve_rate)
        .execute(db)
        .await
        .expect("metrics");
    sqlx::query("UPDATE executions SET step = $2 + 1 WHERE id = $1")
        .bind(run)
        .bind(step)
        .execute(db)
        .await
        .expect("a step");
}

/// Waits until a rule has looked at `steps` finished steps of the run.
async fn looked(server: &TestServer, run: Uuid, steps: i32) {
    loop {
        let found: Option<i32> = sqlx::query_scalar("SELECT max(step) FROM alert_rule_states WHERE run_id = $1")
            .bind(run)
            .fetch_one(server.store.pool())
            .await
            .expect("states");
        if found == Some(steps) {
            return;
        }
    }
}

async fn alerts(reader: &Actor) -> Vec<Value> {
    let found = reader.get("/api/v1/alerts?kind=metric&order=oldest").await.expect(200).json();
    found["items"].as_array().cloned().unwrap_or_default()
}

#[actix_web::test]
async fn a_rule_about_a_tag_alerts_once_until_it_no_longer_holds() {
    let server = alerting().await;
    let writer = server.actor(Scope::Write).await;
    let run = paused(&server, &writer, "<i>low</i>").await;
    let rule = json!({"tag": "watched", "metric": "solve_rate", "comparison": "below", "value": 0.1, "steps": 2});
    let rule = writer.post("/api/v1/alert-rules", &rule).await.expect(201).json();
    // The mean over two steps: none yet, 0.075, 0.05, 0.275, 0.275, 0.05.
    let mut counts = Vec::new();
    for (step, rate) in [0.1, 0.05, 0.05, 0.5, 0.05, 0.05].into_iter().enumerate() {
        let step = i32::try_from(step).expect("few steps");
        end_step(&server, run, step, rate).await;
        if step > 0 {
            looked(&server, run, step + 1).await;
        }
        counts.push(alerts(&writer).await.len());
    }
    assert_eq!(counts, [0, 1, 1, 1, 1, 2]);
    let raised = alerts(&writer).await;
    assert_eq!(raised[0]["run_id"], run.to_string());
    let (title, detail) = (raised[0]["title"].as_str(), raised[0]["detail"].as_str());
    assert!(title.is_some_and(|title| title.contains("solve_rate is below 0.1")), "{raised:?}");
    assert!(detail.is_some_and(|detail| detail.contains("steps 0 to 1") && detail.contains("0.075")), "{raised:?}");
    let shown = writer.get(&format!("/api/v1/alert-rules/{}", rule["id"].as_str().expect("an id"))).await.expect(200);
    assert_eq!(shown.json()["holds_of"], 1);
    let page = writer.clone().with("accept", "text/html").get("/alerts").await.expect(200).text();
    assert!(page.contains("solve_rate below 0.1 over the last 2 steps") && !page.contains("<i>low"), "{page}");
    server.stop().await;
}

#[actix_web::test]
async fn a_rule_about_a_run_watches_no_other_and_goes_with_it() {
    let server = alerting().await;
    let writer = server.actor(Scope::Write).await;
    let (mine, other) = (paused(&server, &writer, "mine").await, paused(&server, &writer, "other").await);
    let rule = json!({"run": mine, "metric": "solve_rate", "comparison": "at_least", "value": 0.5});
    writer.post("/api/v1/alert-rules", &rule).await.expect(201);
    end_step(&server, other, 0, 0.9).await;
    end_step(&server, mine, 0, 0.5).await;
    looked(&server, mine, 1).await;
    let raised = alerts(&writer).await;
    assert_eq!(raised.len(), 1, "{raised:?}");
    assert_eq!(raised[0]["run_id"], mine.to_string());
    writer.act(&format!("/api/v1/runs/{mine}/cancel")).await.expect(202);
    writer.delete(&format!("/api/v1/runs/{mine}")).await.expect(204);
    let left = writer.get("/api/v1/alert-rules").await.expect(200).json();
    assert_eq!(left["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn a_rule_that_could_never_alert_is_refused_with_what_would_be_valid() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = paused(&server, &writer, "one").await;
    let rule = |changes: Value| {
        let mut rule = json!({"metric": "solve_rate", "comparison": "above", "value": 1});
        let fields = rule.as_object_mut().expect("an object");
        fields.extend(changes.as_object().cloned().expect("an object"));
        rule
    };
    for (changes, place, said) in [
        (json!({"run": run, "metric": "solverate"}), "/metric", "solve_rate"),
        (json!({"tag": "x", "metric": "elegance"}), "/metric", "valid: "),
        (json!({"run": Uuid::nil()}), "/run", "00000000"),
        (json!({"tag": "x", "steps": 0}), "/steps", "1"),
        (json!({"tag": "x", "comparison": "near"}), "/comparison", "at_least"),
        (json!({"run": run, "tag": "x"}), "", "exactly one"),
        (json!({}), "", "exactly one"),
    ] {
        let refused = writer.post("/api/v1/alert-rules", &rule(changes.clone())).await.expect(422);
        assert_eq!(refused.places(), [place], "{changes}: {refused:?}");
        assert!(refused.text().contains(said), "{changes}: {refused:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn the_first_acknowledgement_of_an_alert_counts() {
    let server = TestServer::start().await;
    let (writer, reader) = (server.actor(Scope::Write).await, server.actor(Scope::Read).await);
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO alerts (id, kind, subject, occurrence, title, detail) VALUES ($1, 'stalled', $1, '1', 'slow', '')",
    )
    .bind(id)
    .execute(server.store.pool())
    .await
    .expect("an alert");
    let path = format!("/api/v1/alerts/{id}/acknowledge");
    let button = async |who: &Actor| {
        let page = who.clone().with("accept", "text/html").get("/alerts").await.expect(200).text();
        attributes(&page, "data-action").contains(&path)
    };
    assert!(button(&writer).await && !button(&reader).await);
    reader.act(&path).await.expect(403);
    let first = writer.act(&path).await.expect(200).json();
    assert_eq!(first["acknowledged_by"], "write");
    let again = server.actor(Scope::Admin).await.act(&path).await.expect(200).json();
    assert_eq!(again, first);
    assert!(!button(&writer).await);
    for (acknowledged, count) in [(true, 1), (false, 0)] {
        let address = format!("/api/v1/alerts?acknowledged={acknowledged}");
        let found = reader.get(&address).await.expect(200).json();
        assert_eq!(found["items"].as_array().map(Vec::len), Some(count), "{address}");
    }
    server.stop().await;
}
