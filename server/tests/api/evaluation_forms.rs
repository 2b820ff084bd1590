//! The form for evaluations, what an evaluation costs, and the pages of results that have no test file of their own.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::benchmarks::imported;
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::outline::{assert_reads_like, attributes};

const TYPES: [&str; 8] = [
    "benchmark",
    "cross_play",
    "dataset_check",
    "frozen_side",
    "goalposts",
    "majority_vote",
    "operator_retention",
    "regenerate",
];

/// An evaluation of the untrained base on `rows` rows.
fn benchmark(rows: u32) -> Value {
    json!({"spec": {"type": "benchmark", "suites": ["held-out-seedling"], "rows": rows, "base_model": {"name": "seedling"}}})
}

async fn created(writer: &Actor) -> Uuid {
    let made = writer.post("/api/v1/evaluations", &benchmark(1)).await.expect(201).json();
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// The page of an evaluation with this spec and result.
async fn page_of(server: &TestServer, writer: &Actor, spec: &Value, result: &Value) -> String {
    let id = created(writer).await;
    sqlx::query("UPDATE evaluations SET spec = $2, result = $3, run_id = ($2 ->> 'run')::uuid WHERE id = $1")
        .bind(id)
        .bind(spec)
        .bind(result)
        .execute(server.store.pool())
        .await
        .expect("a result");
    let browser = writer.clone().with("accept", "text/html");
    browser.get(&format!("/evaluations/{id}")).await.expect(200).text()
}

#[actix_web::test]
async fn a_dry_run_says_the_cost_and_starts_nothing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let cost = async |rows: u32| {
        let planned = writer.post("/api/v1/evaluations?dry_run=true", &benchmark(rows)).await.expect(200);
        planned.json()["cost"].clone()
    };
    assert_eq!(cost(2).await, json!({"rows": 2, "answers": 2, "seconds": null, "like": null}));
    assert_eq!(writer.get("/api/v1/evaluations").await.expect(200).json()["items"], json!([]));
    let id = created(&writer).await;
    sqlx::query("UPDATE executions SET state = 'completed', created_at = now(), finished_at = now() + interval '7 s' WHERE id = $1")
        .bind(id)
        .execute(server.store.pool())
        .await
        .expect("an end");
    assert_eq!(cost(2).await, json!({"rows": 2, "answers": 2, "seconds": 14.0, "like": id}), "7 s an answer");
    let refused = writer
        .post("/api/v1/evaluations?dry_run=true", &json!({"spec": {"type": "benchmark", "suites": ["humanevil"]}}))
        .await
        .expect(422);
    assert!(refused.text().contains("humanevil"), "{refused:?}");
    server.stop().await;
}

#[actix_web::test]
async fn every_type_has_a_form_that_the_address_fills() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let run = filled(&server, 2).await.run;
    let browser = writer.clone().with("accept", "text/html");
    for kind in TYPES {
        let form = browser.get(&format!("/evaluations/new?type={kind}&run={run}")).await.expect(200).text();
        let paths = attributes(&form, "data-path");
        assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with("spec.")), "{kind}: {paths:?}");
    }
    let filled = "/evaluations/new.json?type=benchmark&suites=held-out-seedling&rows=2";
    let page = writer.get(&format!("{filled}&run={run}")).await.expect(200).json();
    assert_eq!((&page["spec"]["rows"], &page["spec"]["run"]), (&json!(2), &json!(run.to_string())));
    assert_eq!(page["cost"]["rows"], 2, "{page}");
    let incomplete = writer.get("/evaluations/new.json?type=benchmark").await.expect(200).json();
    assert_eq!(incomplete["cost"], json!(null));
    for wrong in ["type=beauty", "run=x", "rows=-1", "elegance=1"] {
        browser.get(&format!("/evaluations/new?{wrong}")).await.expect(400);
    }
    let reader = server.actor(Scope::Read).await.with("accept", "text/html");
    let form = reader.get("/evaluations/new?type=benchmark").await.expect(200).text();
    assert!(!attributes(&form, "id").contains(&"create".to_owned()), "who may only read starts nothing");
    server.stop().await;
}

#[actix_web::test]
async fn a_cross_play_result_is_a_matrix_of_its_pairs() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let made = filled(&server, 2).await;
    let cell = |name: &str, solved: u32, rate: Option<f64>| {
        json!({"teacher": made.teacher, "teacher_name": name, "student": made.student, "student_name": "<b>s</b>",
            "problems": 2, "attempts": 8, "solved": solved, "solve_rate": rate, "low": rate.map(|_| 0.07),
            "high": rate.map(|_| 0.59)})
    };
    let spec = json!({"type": "cross_play", "run": made.run.to_string(), "step": 1, "problems": 2});
    let page = page_of(&server, &writer, &spec, &json!({"cells": [cell("t", 2, Some(0.25))]})).await;
    assert!(!page.contains("<b>s</b>"), "{page}");
    assert_reads_like("evaluation.cross_play", &page);
    let page = page_of(&server, &writer, &spec, &json!({"cells": "none"})).await;
    assert!(page.contains("<h1>"), "a result that cannot be read is none: {page}");
    server.stop().await;
}

#[actix_web::test]
async fn a_majority_vote_needs_three_answers_in_mathematics_and_shows_them_beside_single_ones() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let made = filled(&server, 2).await;
    let spec =
        |n: u32| json!({"type": "majority_vote", "run": made.run, "suites": ["gsm8k"], "n": n, "temperature": 0.8});
    let trial = async |n: u32| {
        let body = json!({"spec": spec(n)});
        writer.post("/api/v1/evaluations?dry_run=true", &body).await
    };
    let refused = trial(2).await.expect(422).text();
    assert!(refused.contains("/spec/suites/0") && refused.contains("at least 3"), "{refused}");
    let planned = trial(4).await.expect(200).json();
    let subjects = planned["config"]["parameters"]["subjects"].as_array().expect("subjects").len();
    let rows = planned["cost"]["rows"].as_u64().expect("rows");
    assert_eq!(planned["cost"]["answers"], 4 * rows * subjects as u64);
    let vote = json!({"subject": {"name": "<b>s</b>", "role": "student", "member": made.student}, "suite": "gsm8k", "rows": 4, "n": 4,
        "majority": 0.75, "majority_error": 0.25, "pass_at_1": 0.5, "pass_at_1_error": 0.125, "agreement": 0.625});
    let page = page_of(&server, &writer, &spec(4), &json!({"votes": [vote]})).await;
    assert!(!page.contains("<b>s</b>"), "{page}");
    assert_reads_like("evaluation.majority_vote", &page);
    server.stop().await;
}

#[actix_web::test]
async fn a_check_of_a_dataset_shows_how_many_rows_can_be_used_and_which_cannot() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let dataset = imported(&writer).await;
    let id: Uuid = dataset["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    sqlx::query(
        "INSERT INTO dataset_bad_rows (dataset_id, index, reason, message) VALUES ($1, 0, 'passes_empty', '<i>x</i>')",
    )
    .bind(id)
    .execute(server.store.pool())
    .await
    .expect("a bad row");
    let (spec, rows) = (json!({"type": "dataset_check", "dataset": dataset["name"]}), &dataset["rows"]);
    let result = json!({"dataset": id, "rows": rows, "bad_rows": 1});
    let page = page_of(&server, &writer, &spec, &result).await;
    assert!(!page.contains("<i>x</i>"), "{page}");
    assert_reads_like("evaluation.dataset_check", &page);
    let result = json!({"dataset": Uuid::nil(), "rows": 3, "bad_rows": 0});
    let page = page_of(&server, &writer, &spec, &result).await;
    assert!(page.contains("<h1>"), "the dataset was deleted: {page}");
    server.stop().await;
}
