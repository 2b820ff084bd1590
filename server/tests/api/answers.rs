//! Typical answers are kept, so that a change of them is seen.

use lyceum_store::tokens::Scope;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::{env, fs};

use crate::fixtures::filled;
use crate::harness::TestServer;

/// What differs from run to run, by what it is.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<uuid::Uuid>().is_ok() => json!("[id]"),
        Value::String(text) if chrono::DateTime::parse_from_rfc3339(&text).is_ok() => json!("[time]"),
        // Those of weights, and of configs that name weights.
        Value::String(text) if text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => json!("[hash]"),
        Value::Array(items) => items.into_iter().map(redacted).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, redacted(field))).collect(),
        other => other,
    }
}

#[actix_web::test]
async fn typical_answers_are_the_ones_that_are_kept() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 2).await;
    let (run, problem, work) = (made.run, made.problems[1], made.work);
    let mut answers = Map::new();
    for address in [
        format!("/runs/{run}"),
        "/runs".to_owned(),
        format!("/runs/{run}/steps"),
        format!("/runs/{run}/members?role=teacher"),
        format!("/runs/{run}/lineage?limit=1"),
        format!("/runs/{run}/matchups"),
        format!("/runs/{run}/metrics"),
        format!("/runs/{run}/problems?limit=1"),
        format!("/runs/{run}/problems/{problem}"),
        format!("/runs/{run}/archive"),
        format!("/runs/{run}/attempts?limit=1&order=oldest"),
        format!("/work/{work}"),
        "/work".to_owned(),
        "/session".to_owned(),
    ] {
        let mut body = writer.get(&format!("/api/v1{address}")).await.expect(200).json();
        if body.get("next").is_some() {
            body["next"] = json!("[cursor]");
        }
        let named = address.replace(&run.to_string(), "RUN").replace(&problem.to_string(), "PROBLEM");
        answers.insert(format!("GET {}", named.replace(&work.to_string(), "WORK")), redacted(body));
    }
    let wrong = writer.post("/api/v1/runs", &json!({"preset": "small", "nmae": "x", "tags": 3})).await.expect(422);
    answers.insert("POST /runs, with faults".to_owned(), wrong.json());
    answers.insert("GET /runs?limit=0".to_owned(), writer.get("/api/v1/runs?limit=0").await.expect(400).json());
    server.stop().await;

    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/answers.json");
    // Which order fields stand in depends on what else is built with serde_json.
    let mut answers = Value::Object(answers);
    answers.sort_all_objects();
    let now = format!("{answers:#}\n");
    if env::var_os("UPDATE_ANSWERS").is_some() {
        fs::write(&kept, &now).expect("the file");
    }
    let before = fs::read_to_string(&kept).unwrap_or_default();
    assert!(
        before == now,
        "answers have changed; look at the difference with UPDATE_ANSWERS=1 in the environment of this test: {now}"
    );
}
