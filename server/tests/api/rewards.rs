//! Rewards of one's own: stored by digest, named by rows, shown with their dataset.

use actix_web::http::Method;
use lyceum_core::artifact::Digest;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{MetricRecord, Plan, Records, StepView, Want};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::commands::says;
use crate::harness::{TestServer, config};

/// Ends the run's current step with means of parts of rewards.
async fn stepped(server: &TestServer, run: ExecutionId, parts: &[(&str, f64)]) {
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
    let metrics = MetricRecord {
        member: None,
        values: vec![0.5],
        reward_parts: parts.iter().map(|&(name, mean)| (name.to_owned(), mean)).collect(),
    };
    let plan = Plan {
        records: Records { metrics: vec![metrics], ..Records::default() },
        finish: Some(locked.state.next("", &json!({})).expect("a state")),
        ..Plan::default()
    };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
}

#[actix_web::test]
async fn a_part_of_a_reward_joins_the_metrics_of_its_run_in_the_first_step_that_has_it() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let started = |made: Value| ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    let mut config = config();
    config["steps"] = json!(9);
    let body = json!({"config": config, "name": "mine"});
    let run = started(writer.post("/api/v1/runs", &body).await.expect(201).json());
    for parts in
        [&[("correct", 0.25)][..], &[("brief", -0.5), ("correct", 0.75)], &[], &[("brief", -0.25), ("correct", 1.0)]]
    {
        stepped(&server, run, parts).await;
    }
    let body = json!({"step": 3, "overrides": {"steps": 9}});
    let fork = started(writer.post(&format!("/api/v1/runs/{run}/fork"), &body).await.expect(201).json());
    for (run, steps) in [(run, 4), (fork, 3)] {
        let read = async |level: u8| {
            let path = format!(
                "/api/v1/runs/{run}/metrics?level={level}&run_alone=true&metrics=reward_part.correct,reward_part.brief"
            );
            let rows = writer.get(&path).await.expect(200).json()["rows"].clone();
            let rows = rows.as_array().expect("rows").iter().map(|row| row["mean"].clone());
            rows.collect::<Vec<_>>()
        };
        let every = [json!([0.25, null]), json!([0.75, -0.5]), json!([null, null]), json!([1.0, -0.25])];
        assert_eq!(read(0).await, every[..steps]);
        if steps == 4 {
            let mean = [json!([2.0 / 3.0, -0.375])];
            assert_eq!(read(1).await, mean, "of the steps that have the part");
        }
    }
    let page = format!("/runs/{run}/metrics");
    let page = writer.get(&page).await.expect(200).text();
    assert!(page.contains("reward_part.brief") && page.contains("id=\"chart-reward-parts\""), "{page}");
    let table = writer.get(&format!("/runs/{run}/export/metrics.jsonl")).await.expect(200).text();
    let exported: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let brief = |row: usize| &exported[row]["reward_part.brief"];
    assert_eq!((brief(0), brief(1)), (&Value::Null, &json!(-0.5)));
    let many: Vec<String> = (0..100).map(|number| format!("part{number}")).collect();
    let many: Vec<(&str, f64)> = many.iter().map(|name| (name.as_str(), 1.0)).collect();
    stepped(&server, run, &many).await;
    let names = writer.get(&format!("/api/v1/runs/{run}")).await.expect(200).json()["metrics"].clone();
    let parts = names.as_array().expect("names").iter().filter_map(Value::as_str);
    assert_eq!(parts.filter(|name| name.starts_with("reward_part.")).count(), 64);
    server.stop().await;
}

#[actix_web::test]
async fn a_dry_run_scores_rows_of_any_dataset_and_leaves_its_check_alone() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let stored = writer.post("/api/v1/rewards", &json!({"source": REWARD})).await.expect(201);
    let digest = stored.json()["digest"].clone();
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let path = "/api/v1/datasets/import?name=mine&purpose=training";
    let row = br#"{"task_id": "a", "question": "1+1?", "oracle": {"type": "math", "gold": "2"}}"#;
    let made = lines.send(Method::POST, path, Some(row.to_vec())).await.expect(201).json();
    let begin = |more: Value| {
        let mut spec = json!({"type": "dataset_check", "dataset": "mine"});
        spec.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
        let writer = writer.clone();
        async move { writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await }
    };
    let oracle = |file: &Value| json!({"type": "python", "file": file});
    for (more, place, said) in [
        (json!({"completion": "2"}), "/spec/oracle", "name no reward"),
        (json!({"oracle": oracle(&json!("0".repeat(64)))}), "/spec/oracle/file", "lyceum reward add"),
        (json!({"rows": 0, "oracle": oracle(&digest)}), "/spec/rows", "at least 1"),
    ] {
        let refused = begin(more).await.expect(422);
        assert_eq!(refused.places(), [place]);
        assert!(refused.json().to_string().contains(said), "{said}: {refused:?}");
    }
    let evaluation = begin(json!({"oracle": oracle(&digest), "completion": "<script>"})).await;
    let evaluation = evaluation.expect(201).json()["id"].as_str().expect("an id").to_owned();
    let id = ExecutionId(evaluation.parse().expect("a UUID"));
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, id).await.expect("a lock").expect("it is due");
    let score = |answer: &str, parts: Value, reason: &str| json!({"row": 0, "answer": answer, "parts": parts, "status": "ok", "reason": reason});
    let result = json!({"dataset": made["id"], "rows": 1, "bad_rows": 0, "dry_run": true, "scores": [
        score("empty", json!({}), "the reward: <b>no</b>"), score("completion", json!({"score": 1.0}), ""),
    ]});
    let plan = Plan {
        result: Some(result.clone()),
        finish: Some(locked.state.next("", &0).expect("a state")),
        ..Plan::default()
    };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
    let shown = writer.get(&format!("/api/v1/evaluations/{evaluation}")).await.expect(200).json();
    assert_eq!((&shown["state"], &shown["result"]), (&json!("completed"), &result));
    let page = writer.get(&format!("/evaluations/{evaluation}")).await.expect(200).text();
    assert!(page.contains("score 1") && page.contains("&#60;b&#62;no") && !page.contains("<b>no"), "{page}");
    let dataset = writer.get(&format!("/api/v1/datasets/{}", made["id"].as_str().expect("an id"))).await;
    assert_eq!(dataset.expect(200).json()["check"], Value::Null, "a dry run is no check");
    server.stop().await;
}

const REWARD: &str = "def score(prompt, completion, row):\n    return '<script>' in completion\n";

#[actix_web::test]
async fn a_reward_is_checked_stored_by_digest_and_shown_escaped() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    for (source, said) in [
        ("def score(", "line 1"),
        ("x = 1", "`def score(prompt, completion, row)` is valid"),
        ("def score(a): return 1", "three values"),
    ] {
        let reply = writer.post("/api/v1/rewards", &json!({ "source": source })).await.expect(422);
        assert_eq!(reply.places(), ["/source"]);
        assert!(reply.json().to_string().contains(said), "{said}: {reply:?}");
    }
    let digest = Digest::of(REWARD.as_bytes()).to_string();
    for _ in 0..2 {
        let stored = writer.post("/api/v1/rewards", &json!({"source": REWARD})).await.expect(201);
        assert_eq!(stored.json()["digest"], digest);
    }
    let path = format!("/api/v1/rewards/{digest}");
    assert_eq!(writer.get(&path).await.expect(200).json()["source"], REWARD);
    for other in [&"0".repeat(64), "x", "%00"] {
        writer.get(&format!("/api/v1/rewards/{other}")).await.expect(404);
    }

    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let import = |reward: &str| {
        let map = json!({"question": "question", "answer": "answer", "reward": reward}).to_string();
        let map = percent_encoding::utf8_percent_encode(&map, percent_encoding::NON_ALPHANUMERIC).to_string();
        let path = format!("/api/v1/datasets/import?name=mine&purpose=training&oracle=python&map={map}");
        let body = Some(b"{\"question\": \"1+1?\", \"answer\": \"2\", \"level\": 3}".to_vec());
        let lines = lines.clone();
        async move { lines.send(Method::POST, &path, body).await }
    };
    let refused = import("reward.py").await.expect(400);
    assert!(refused.json().to_string().contains("is not a digest"), "{refused:?}");
    let unknown = import(&"0".repeat(64)).await.expect(422);
    assert_eq!(unknown.places(), ["/rows/0"]);
    let told = unknown.json().to_string();
    assert!(told.contains("line 1: field `oracle.file`") && told.contains("lyceum reward add"), "{told}");
    let made = import(&digest).await.expect(201).json();
    assert_eq!(made["check"]["state"], "checking", "a reward is tried before it is used");
    let id = made["id"].as_str().expect("an id");
    let rows = writer.get(&format!("/api/v1/datasets/{id}/rows")).await.expect(200).json();
    let oracle = &rows["items"][0]["row"]["oracle"];
    assert_eq!(
        *oracle,
        json!({"type": "python", "file": digest, "timeout": 5, "row": {"question": "1+1?", "answer": "2", "level": 3}}),
        "its text is stored once"
    );
    let mut view = StepView::default();
    let dataset = DatasetId(id.parse().expect("a UUID"));
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let want = [Want::Row(dataset, 0)];
    plan::wanted(&mut tx, &want, &mut view).await.expect("the row");
    assert_eq!(view.rows[&(dataset, 0)].0["oracle"]["source"], REWARD, "planners get it");
    drop(tx);
    let run = |file: &str| {
        json!({"config": {
            "recipe": "rlvr", "steps": 1,
            "populations": {"main": {
                "base_model": {"name": "seedling"},
                "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
                "members": [{"roles": ["solver"], "count": 1}],
            }},
            "parameters": {
                "dataset": {"name": "mine", "allow_unchecked": true}, "prompts": "azr", "batch": 1, "n": 2,
                "sampling": {"max_tokens": 16}, "oracle": {"type": "python", "file": file},
            },
        }})
    };
    let refused = writer.post("/api/v1/runs", &run(&"0".repeat(64))).await.expect(422);
    assert_eq!(refused.places(), ["/config/parameters/oracle/file"]);
    assert!(refused.text().contains("lyceum reward add"), "{refused:?}");
    let begun = writer.post("/api/v1/runs", &run(&digest)).await.expect(201).json();
    assert_eq!(begun["config"]["parameters"]["oracle"], json!({"type": "python", "file": digest, "timeout": 5}));
    let file = server.folder().join("own.py");
    let source = "def score(prompt, completion, row): return 0";
    std::fs::write(&file, source).expect("a file");
    let mut config = run(&digest)["config"].clone();
    config["parameters"].as_object_mut().expect("an object").remove("oracle");
    let written = server.folder().join("run.json");
    std::fs::write(&written, config.to_string()).expect("a file");
    let [file, written] = [&file, &written].map(|path| path.to_str().expect("a path"));
    let arguments = ["run", "create", "--file", written, "--reward", file, "--set", "parameters.oracle.timeout=9"];
    let id = says(&server, &arguments).await;
    let begun = writer.get(&format!("/api/v1/runs/{id}")).await.expect(200).json();
    let wanted = json!({"type": "python", "file": Digest::of(source.as_bytes()), "timeout": 9});
    assert_eq!(begun["config"]["parameters"]["oracle"], wanted);
    let id = made["id"].as_str().expect("an id");
    let page = writer.get(&format!("/datasets/{id}")).await.expect(200).text();
    assert!(page.contains(&digest) && page.contains("&#60;script&#62;") && !page.contains("'<script>'"), "{page}");
    server.stop().await;
}

#[actix_web::test]
async fn a_removed_reward_is_named_by_who_used_it_and_can_be_stored_again() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let store = async |source: &str, allow: bool| {
        writer.post("/api/v1/rewards", &json!({"source": source, "allow_secrets": allow})).await
    };
    let source = "API_KEY = 'abcd-1234-efgh'\ndef score(prompt, completion, row):\n    return len(API_KEY)\n";
    let refused = store(source, false).await.expect(422);
    assert_eq!(refused.places(), ["/source"]);
    for part in ["line 1", "`API_KEY`", "allow_secrets"] {
        assert!(refused.text().contains(part), "{part}: {refused:?}");
    }
    let digest = store(source, true).await.expect(201).json()["digest"].as_str().expect("a digest").to_owned();
    let path = format!("/api/v1/rewards/{digest}");

    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let row = json!({"task_id": "a", "question": "1+1?", "oracle": {"type": "python", "file": digest, "row": {}}});
    let import = "/api/v1/datasets/import?name=mine&purpose=training";
    let made = lines.send(Method::POST, import, Some(row.to_string().into_bytes())).await.expect(201).json();
    let check = made["check"]["evaluation"].as_str().expect("an evaluation").to_owned();
    let refused = writer.send(Method::DELETE, &path, None).await.expect(409);
    assert!(refused.text().contains(&check), "{refused:?}");
    writer.post(&format!("/api/v1/evaluations/{check}/cancel"), &Value::Null).await.expect(202);

    let mut config = config();
    config["parameters"] = json!({ "spec": {"file": digest} });
    let run = writer.post("/api/v1/runs", &json!({ "config": config })).await.expect(201).json();
    let run = run["id"].as_str().expect("an id").to_owned();
    writer.send(Method::DELETE, &path, None).await.expect(409);
    writer.post(&format!("/api/v1/runs/{run}/cancel"), &Value::Null).await.expect(202);

    writer.send(Method::DELETE, &path, None).await.expect(204);
    for gone in [writer.get(&path).await, writer.send(Method::DELETE, &path, None).await] {
        assert!(gone.expect(410).text().contains("was removed on"));
    }
    let kept: Vec<String> =
        sqlx::query_scalar("SELECT source FROM rewards").fetch_all(server.store.pool()).await.expect("rows");
    assert_eq!(kept, [""]);
    for page in [format!("/runs/{run}"), format!("/datasets/{}", made["id"].as_str().expect("an id"))] {
        let page = writer.get(&page).await.expect(200).text();
        assert!(page.contains(&digest) && page.contains("was removed"), "{page}");
    }
    let again = lines.send(Method::POST, &import.replace("mine", "other"), Some(row.to_string().into_bytes())).await;
    assert!(again.expect(422).text().contains("lyceum reward add"));
    store(source, true).await.expect(201);
    assert_eq!(writer.get(&path).await.expect(200).json()["source"], source);
    server.stop().await;
}
