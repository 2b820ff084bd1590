//! Runs that measure themselves: from the start, the members that solve, on the page of their result.

use lyceum_core::id::ExecutionId;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::benchmarks::{imported, measured};
use crate::fixtures::filled;
use crate::harness::{TestServer, config};
use crate::outline::{assert_reads_like, attributes};

fn scheduled(schedule: &Value) -> Value {
    let mut config = config();
    config["benchmarks"] = schedule.clone();
    json!({ "config": config })
}

fn id_of(made: &Value) -> ExecutionId {
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

#[actix_web::test]
async fn a_run_measures_its_base_before_the_first_step_and_shows_it() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let browser = writer.clone().with("accept", "text/html");
    let schedule = json!({"suites": [{"suite": "gsm8k", "n": 2, "temperature": 1.0}], "every": 2, "at_start": true});
    let made = writer.post("/api/v1/runs", &scheduled(&schedule)).await.expect(201).json();
    let events = format!("/api/v1/runs/{}/events", id_of(&made));
    let json = writer.clone().with("accept", "application/json");
    let told = json.get(&events).await.expect(200).text();
    assert!(told.contains("not_measured") && told.contains("no rows of `gsm8k`"), "{told}");

    imported(&writer).await;
    let made = writer.post("/api/v1/runs", &scheduled(&schedule)).await.expect(201).json();
    let run = id_of(&made);
    let page = format!("/runs/{run}");
    let html = browser.get(&page).await.expect(200).text();
    let ids = attributes(&html, "id");
    let place = |wanted: &str| ids.iter().position(|id| id == wanted).expect(wanted);
    assert!(place("held-out") < place("now"), "it comes first");
    assert!(!attributes(&html, "data-open").is_empty(), "it is being measured: {html}");
    let shown = writer.get(&format!("{page}.json")).await.expect(200).json();
    assert_eq!(shown["held_out"]["points"], json!([]));

    let evaluations = format!("/evaluations.json?type=benchmark&run={run}");
    let listed = writer.get(&evaluations).await.expect(200).json();
    assert_eq!(listed["items"][0]["subjects"], json!(["seedling"]), "new members equal it");
    measured(&server, id_of(&listed["items"][0])).await;
    let shown = writer.get(&format!("{page}.json")).await.expect(200).json();
    assert_eq!(shown["held_out"]["points"][0]["step"], 0);
    assert_eq!(shown["held_out"]["base"]["pass_at_1"]["mean"], 0.5);
    assert_eq!(shown["held_out"]["base"]["pass_at_k"]["mean"], 1.0);
    assert_eq!(shown["held_out"]["base"]["tokens"], 3.0);
    let part = browser.get(&format!("{page}/held-out")).await.expect(200).text();
    assert!(attributes(&part, "id").contains(&"figures".to_owned()), "the script draws them: {part}");
    assert_reads_like("run.held-out", &part);
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_measures_nothing_shows_nothing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    let browser = writer.clone().with("accept", "text/html");
    let html = browser.get(&format!("/runs/{}", made.run)).await.expect(200).text();
    assert!(!attributes(&html, "id").contains(&"figures".to_owned()), "{html}");
    let shown = writer.get(&format!("/runs/{}.json", made.run)).await.expect(200).json();
    assert_eq!(shown["held_out"], Value::Null);
    server.stop().await;
}

#[actix_web::test]
async fn only_members_of_the_roles_asked_for_are_measured() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let spec =
        |roles: &[&str]| json!({"spec": {"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "roles": roles}});
    writer.post("/api/v1/evaluations", &spec(&["student"])).await.expect(201);
    let listed = writer.get("/evaluations.json?type=benchmark").await.expect(200).json();
    assert_eq!(listed["items"][0]["subjects"], json!(["seedling", "student-0"]));
    let refused = writer.post("/api/v1/evaluations", &spec(&["solver"])).await.expect(422);
    assert_eq!(refused.places(), ["/spec/roles"]);
    assert!(refused.text().contains("valid are teacher, student"), "{}", refused.text());

    let schedule = json!({"suites": ["gsm8k"], "roles": ["solver"]});
    let refused = writer.post("/api/v1/runs", &scheduled(&schedule)).await.expect(422);
    assert_eq!(refused.places(), ["/config/benchmarks/roles/0"]);
    server.stop().await;
}

#[actix_web::test]
async fn a_run_goes_on_with_the_weights_that_it_began_with() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer.post("/api/v1/runs", &json!({ "config": config() })).await.expect(201).json();
    let begun = made["config"]["populations"]["main"]["base_model"]["revision"].clone();
    assert_eq!(begun.as_str().map(str::len), Some(64), "{made}");
    let address = format!("/api/v1/runs/{}", id_of(&made));
    let renamed = json!({"step": 0, "overrides": {"populations.main.base_model.name": "another", "populations.main.base_model.revision": null}});
    let refused = writer.post(&format!("{address}/fork"), &renamed).await.expect(422);
    assert!(refused.text().contains("a fork keeps the base of its run, `seedling`"), "{}", refused.text());

    let other = "0".repeat(64);
    sqlx::query("UPDATE executions SET config = jsonb_set(config, '{populations,main,base_model,revision}', to_jsonb($1::text))")
        .bind(&other)
        .execute(server.store.pool())
        .await
        .expect("other weights");
    writer.act(&format!("{address}/pause")).await.expect(202);
    let resumed = writer.act(&format!("{address}/resume")).await.expect(422);
    let forked = writer.post(&format!("{address}/fork"), &json!({"step": 0})).await.expect(422);
    assert_eq!(forked.places(), ["/config/populations/main/base_model"]);
    for reply in [resumed.text(), forked.text()] {
        for told in ["`seedling`", &other, begun.as_str().expect("a digest")] {
            assert!(reply.contains(told), "{told} is not in {reply}");
        }
    }
    let config: Value = json!({"populations.main.base_model.revision": other});
    let body = json!({"config": crate::harness::config(), "overrides": config});
    writer.post("/api/v1/runs", &body).await.expect(422);
    server.stop().await;
}
