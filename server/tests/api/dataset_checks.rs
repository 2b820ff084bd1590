//! Datasets with tests are used once these have been tried, and without the rows whose tests cannot be used.

use actix_web::http::Method;
use lyceum_core::dataset::{TestFault, TestFaultKind};
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{DatasetCheckParameters, DatasetCheckRecord, Plan, Records};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::{refuses, says};
use crate::harness::{Actor, TestServer};
use crate::outline::assert_reads_like;

fn row(name: &str) -> Value {
    json!({
        "task_id": name, "question": format!("\"\"\"{name}\"\"\"\n"), "canonical": "def add(a, b):\n    return a + b\n",
        "oracle": {"type": "script", "entry_point": "add", "test": "def test_add():\n    assert add(1, 2) == 3\n"},
    })
}

/// Imports rows `a`, `b` and `c`, with a blank line after the first.
async fn imported(writer: &Actor, query: &str) -> Value {
    let lines = format!("{}\n\n{}\n{}\n", row("a"), row("b"), row("c"));
    let writer = writer.clone().with("content-type", "application/x-ndjson");
    let path = format!("/api/v1/datasets/import?name=mine&{query}");
    let made = writer.send(Method::POST, &path, Some(lines.into_bytes())).await;
    made.expect(201).json()
}

fn uuid(value: &Value) -> Uuid {
    value.as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// Ends the check that `made` names, which found these faults.
async fn checked(server: &TestServer, made: &Value, faults: &[(u32, TestFaultKind)]) {
    let id = ExecutionId(uuid(&made["check"]["evaluation"]));
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, id).await.expect("a lock").expect("it is due");
    let of: DatasetCheckParameters =
        serde_json::from_value(locked.state.config.parameters.clone()).expect("its parameters");
    assert_eq!((of.dataset, of.rows), (DatasetId(uuid(&made["id"])), 3));
    let bad = faults.iter().map(|(place, reason)| {
        let message = "<b>an assertion\0 does not hold\u{202e}".to_owned();
        (*place, TestFault { reason: *reason, message })
    });
    let record = DatasetCheckRecord { dataset: of.dataset, bad: bad.collect(), is_last: true };
    let plan = Plan {
        records: Records { dataset_checks: vec![record], ..Records::default() },
        finish: Some(locked.state.next("", &0).expect("a state")),
        ..Plan::default()
    };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
}

/// A run that learns from `mine`, with these fields alongside its name.
fn run(fields: &Value) -> Value {
    let mut dataset = json!({"name": "mine"});
    let more = fields.as_object().expect("fields").clone();
    dataset.as_object_mut().expect("an object").extend(more);
    json!({"config": {
        "recipe": "rlvr", "steps": 1,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": {"dataset": dataset, "prompts": "azr", "batch": 1, "n": 2, "sampling": {"max_tokens": 16}},
    }})
}

async fn shown(actor: &Actor, made: &Value) -> Value {
    let path = format!("/api/v1/datasets/{}", uuid(&made["id"]));
    actor.get(&path).await.expect(200).json()
}

/// The refusal of a run, which is about its dataset.
async fn refused(writer: &Actor, fields: &Value) -> String {
    let reply = writer.post("/api/v1/runs", &run(fields)).await.expect(422);
    assert_eq!(reply.places(), ["/config/parameters/dataset/allow_unchecked"]);
    reply.json()["errors"][0]["detail"].as_str().expect("a detail").to_owned()
}

#[actix_web::test]
async fn a_run_waits_for_the_check_that_its_import_planned_unless_it_says_otherwise() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = imported(&writer, "purpose=training").await;
    let check = &made["check"];
    assert_eq!((&check["state"], &check["rows"], &check["bad_rows"]), (&json!("checking"), &json!(0), &json!(0)));
    for fields in [json!({}), json!({"leave_out_bad_rows": true})] {
        let told = refused(&writer, &fields).await;
        assert!(told.contains("`mine` are being checked (0 of 3 rows)"), "{told}");
        assert!(told.contains("`allow_unchecked`"), "{told}");
    }
    writer.post("/api/v1/runs", &run(&json!({"allow_unchecked": true}))).await.expect(201);
    let again = json!({"spec": {"type": "dataset_check", "dataset": "mine"}});
    let reply = writer.post("/api/v1/evaluations", &again).await.expect(409);
    assert!(reply.text().contains("being checked by evaluation"), "{reply:?}");

    checked(&server, &made, &[]).await;
    assert_eq!(shown(&writer, &made).await["check"]["state"], "checked");
    writer.post("/api/v1/runs", &run(&json!({}))).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn bad_rows_are_shown_by_line_and_refused_or_left_out() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = imported(&writer, "purpose=training").await;
    let id = uuid(&made["id"]);
    let faults = [(0, TestFaultKind::PassesEmpty), (2, TestFaultKind::FailsCanonical)];
    checked(&server, &made, &faults).await;
    let list = format!("/api/v1/datasets/{id}/bad-rows");
    let page = writer.get(&format!("{list}?limit=1")).await.expect(200).json();
    let next = page["next"].as_str().expect("a second page");
    let rest = writer.get(&format!("{list}?limit=1&cursor={next}")).await.expect(200).json();
    let row = |index: u32, line: u32, task: &str, reason: &str| {
        json!({"index": index, "line": line, "task_id": task, "reason": reason,
            "message": "<b>an assertion\u{2400} does not hold\u{202e}"})
    };
    let rows = json!([row(0, 1, "a", "passes_empty"), row(2, 4, "c", "fails_canonical")]);
    assert_eq!(json!([page["items"][0], rest["items"][0]]), rows);
    assert_eq!(rest["next"], Value::Null);
    let json = writer.get(&format!("/datasets/{id}.json")).await.expect(200).json();
    assert_eq!((&json["check"]["bad_rows"], &json["bad_rows"]), (&json!(2), &rows));
    let browser = writer.clone().with("accept", "text/html");
    let html = browser.get(&format!("/datasets/{id}")).await.expect(200).text();
    assert!(!html.contains("<b>an") && !html.contains('\u{202e}'), "{html}");
    assert_reads_like("dataset.bad-rows", &html);

    let told = refused(&writer, &json!({})).await;
    for part in [
        "2 of 3 rows of dataset `mine`",
        "line 1 passes for an empty program, line 4 fails its own canonical solution",
        "`leave_out_bad_rows`",
        "`allow_unchecked`",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let whole = writer.post("/api/v1/runs", &run(&json!({"allow_unchecked": true}))).await.expect(201).json();
    assert_eq!(whole["config"]["parameters"]["dataset"]["id"], json!(id));
    let mut parts = Vec::new();
    for _ in 0..2 {
        let begun = writer.post("/api/v1/runs", &run(&json!({"leave_out_bad_rows": true}))).await.expect(201).json();
        let dataset = begun["config"]["parameters"]["dataset"].clone();
        assert_eq!(dataset["rows"], 1);
        parts.push(dataset["id"].clone());
    }
    assert_eq!(parts[0], parts[1], "the part is made once");
    let part = shown(&writer, &json!({"id": parts[0]})).await;
    assert_eq!(part["name"], "mine without 2 bad rows");
    assert_eq!(part["provenance"], json!({"dataset": id, "name": "mine", "left_out_bad_rows": [0, 2]}));
    assert_eq!(part["check"]["state"], "checked");
    let kept = writer.get(&format!("/api/v1/datasets/{}/rows", uuid(&parts[0]))).await.expect(200).json();
    assert_eq!(kept["items"][0]["row"]["task_id"], "b");
    let reply = writer.post("/api/v1/runs", &run(&json!({"leave_out_bad_rows": true, "rows": 2}))).await.expect(422);
    assert_eq!(reply.places(), ["/config/parameters/dataset/rows"]);
    server.stop().await;
}

#[actix_web::test]
async fn a_suite_is_not_measured_with_rows_that_are_unchecked_or_bad() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = imported(&writer, "purpose=benchmark&suite=humaneval").await;
    let spec = |suite: &Value| json!({"spec": {"type": "benchmark", "suites": [suite], "base_model": {"name": "seedling"}, "prompts": "azr"}});
    let refusal = async |suite: Value| {
        let reply = writer.post("/api/v1/evaluations", &spec(&suite)).await.expect(422);
        assert!(reply.places()[0].starts_with("/spec/suites/0"), "{reply:?}");
        reply.text()
    };
    assert!(refusal(json!("humaneval")).await.contains("are being checked"));
    let scheduled = |suite: Value| {
        let mut run = run(&json!({"allow_unchecked": true}));
        run["config"]["parameters"]["dataset"]["name"] = json!("seedling-training");
        run["config"]["benchmarks"] = json!({"every": 1, "suites": [suite]});
        run
    };
    let reply = writer.post("/api/v1/runs", &scheduled(json!("humaneval"))).await.expect(422);
    assert_eq!(reply.places(), ["/config/benchmarks/suites/0"]);
    assert!(reply.text().contains("are being checked"), "{reply:?}");
    let free = json!({"suite": "humaneval", "allow_unchecked": true});
    writer.post("/api/v1/evaluations", &spec(&free)).await.expect(201);

    checked(&server, &made, &[(1, TestFaultKind::Unusable)]).await;
    assert!(refusal(json!("humaneval")).await.contains("line 3 cannot judge any program"));
    let without = json!({"suite": "humaneval", "leave_out_bad_rows": true});
    for _ in 0..2 {
        let begun = writer.post("/api/v1/evaluations", &spec(&without)).await.expect(201).json();
        let slice: Value = sqlx::query_scalar("SELECT config #> '{parameters,suites,0}' FROM executions WHERE id = $1")
            .bind(uuid(&begun["id"]))
            .fetch_one(server.store.pool())
            .await
            .expect("its config");
        assert_eq!(slice["rows"], 2);
    }
    assert!(refusal(json!("humaneval")).await.contains("`mine`"), "a part is not the suite's newest rows");
    server.stop().await;
}

#[actix_web::test]
async fn a_dataset_of_an_older_release_is_checked_when_it_is_first_named() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = imported(&writer, "purpose=training").await;
    let first = uuid(&made["check"]["evaluation"]);
    sqlx::query("UPDATE datasets SET check_id = NULL").execute(server.store.pool()).await.expect("an update");
    assert_eq!(shown(&writer, &made).await["check"]["state"], "unchecked");
    let told = refused(&writer, &json!({})).await;
    assert!(told.contains("have not been checked, which begins now"), "{told}");
    let told = refused(&writer, &json!({})).await;
    assert!(told.contains("are being checked"), "{told}");
    let second = uuid(&shown(&writer, &made).await["check"]["evaluation"]);
    assert_ne!(first, second);
    // What the first still writes counts for nothing.
    checked(&server, &made, &[(0, TestFaultKind::PassesEmpty)]).await;
    let check = shown(&writer, &made).await["check"].clone();
    assert_eq!((&check["state"], &check["bad_rows"]), (&json!("checking"), &json!(0)));

    writer.act(&format!("/api/v1/evaluations/{second}/cancel")).await.expect(202);
    assert_eq!(shown(&writer, &made).await["check"]["state"], "unchecked");
    let again = json!({"spec": {"type": "dataset_check", "dataset": made["id"]}});
    let third = writer.post("/api/v1/evaluations", &again).await.expect(201).json();
    assert_eq!(shown(&writer, &made).await["check"]["evaluation"], third["id"]);
    writer.delete(&format!("/api/v1/datasets/{}", uuid(&made["id"]))).await.expect(204);
    let path = format!("/api/v1/evaluations/{}", uuid(&third["id"]));
    assert_eq!(writer.get(&path).await.expect(200).json()["state"], "cancelled");
    server.stop().await;
}

#[actix_web::test]
async fn rows_without_tests_are_not_checked() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([{"task_id": "a", "question": "?", "oracle": {"type": "math", "gold": "1"}}]);
    let body = json!({"name": "mine", "purpose": "training", "rows": rows});
    let made = writer.post("/api/v1/datasets", &body).await.expect(201).json();
    assert_eq!(made.get("check"), None);
    let check = |dataset: &str| json!({"spec": {"type": "dataset_check", "dataset": dataset}});
    for (dataset, told) in [("mine", "no row of dataset `mine` has tests"), ("yours", "there is no dataset `yours`")] {
        let reply = writer.post("/api/v1/evaluations", &check(dataset)).await.expect(422);
        assert_eq!(reply.places(), ["/spec/dataset"]);
        assert!(reply.text().contains(told), "{reply:?}");
    }
    writer.post("/api/v1/runs", &run(&json!({}))).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn bad_rows_are_listed_on_the_command_line() {
    let server = TestServer::start().await;
    let file = server.folder().join("rows.jsonl");
    std::fs::write(&file, format!("{}\n{}\n{}\n", row("a"), row("b"), row("c"))).expect("a file");
    let file = file.to_str().expect("a path");
    // Nobody is there to check it, so that there is nothing to wait for.
    let id = says(&server, &["dataset", "import", file, "--purpose", "training"]).await;
    let reader = server.actor(Scope::Read).await;
    let made = shown(&reader, &json!({"id": id})).await;
    checked(&server, &made, &[(1, TestFaultKind::PassesEmpty)]).await;
    let told = refuses(&server, &["dataset", "check", &id]).await;
    assert!(told.contains("1 bad row"), "{told}");
    server.stop().await;
}
