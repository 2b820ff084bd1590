//! Samplers of rows: what they need of a dataset, and their state on a run's page.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Plan, Records, RowAnswersRecord};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::dataset_rows::{self, problem_of};
use crate::datasets::{config, dataset, imported, problem};
use crate::harness::{self, TestServer};
use crate::outline::assert_reads_like;
use crate::views::browser;

#[actix_web::test]
async fn a_sampler_finds_its_tag_in_every_row_and_its_values_in_some() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let tagged = |task: &str, question: &str, level: &str| {
        let mut row = problem(task, question);
        row["tags"] = json!({ "level": level });
        row
    };
    let all = json!([tagged("a", "1?", "1"), tagged("b", "2?", "2"), tagged("c", "3?", "3")]);
    let some = json!([tagged("d", "4?", "1"), problem("e", "5?")]);
    for (name, rows) in [("all", all), ("some", some)] {
        imported(&writer, &dataset(name, "training", &rows)).await;
    }
    let body = |dataset: Value, sampler: &Value| {
        let parameters = json!({
            "dataset": dataset, "sampler": sampler, "prompts": "azr", "batch": 1, "n": 2, "sampling": {"max_tokens": 64},
        });
        json!({"config": config("rlvr", &json!(["solver"]), &parameters)})
    };
    let weighted = |value: &str| json!({"weighted": {"tag": "level", "weights": {(value): 1.0}}});
    for (dataset, sampler, said) in [
        (json!({"name": "some"}), json!({"staircase": {}}), "row 1 of dataset `some` has no tag `level`"),
        (json!({"name": "all"}), weighted("4"), "with `4`: 1, 2, 3 are valid"),
        (json!({"name": "all", "rows": 2}), weighted("3"), "with `3`: 1, 2"),
        (json!({"name": "all"}), json!({"staircase": {"levels": ["1", "9"]}}), "with `9`"),
        (json!({"name": "all"}), json!({"staircase": {"tag": "topic"}}), "row 0 of dataset `all` has no tag `topic`"),
    ] {
        let reply = writer.post("/api/v1/runs", &body(dataset, &sampler)).await.expect(422);
        assert_eq!(reply.places(), ["/config/parameters/sampler"], "{reply:?}");
        assert!(reply.text().contains(said), "{sampler}: {reply:?}");
    }
    let mut larger = body(json!({"name": "all"}), &json!({"staircase": {}}));
    larger["config"]["parameters"]["batch"] = json!(2);
    let said = writer.post("/api/v1/runs", &larger).await.expect(422).text();
    assert!(said.contains("with `1` for a batch of 2 (1)"), "{said}");
    for sampler in [json!("uniform"), weighted("2"), json!({"staircase": {}}), json!({"band": {}})] {
        let made = writer.post("/api/v1/runs", &body(json!({"name": "all"}), &sampler)).await.expect(201).json();
        let of_run = &made["config"]["parameters"]["sampler"];
        assert!(*of_run == sampler || of_run.as_object().map(|one| one.len()) == Some(1), "{made}");
    }
    let found = writer.get("/runs.json?where=sampler%3Dstaircase&columns=sampler").await.expect(200).json();
    let shown: Vec<_> = found["items"].as_array().expect("runs").iter().map(|run| &run["values"]["sampler"]).collect();
    assert_eq!(shown, [&json!("staircase")], "{found}");
    let groups = writer.get("/runs.json?group=sampler").await.expect(200).json();
    let mut names: Vec<_> = groups["groups"].as_array().expect("groups").iter().map(|of| of["key"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["band", "staircase", "uniform", "weighted"].map(Some));
    server.stop().await;
}

#[actix_web::test]
async fn answers_are_shown_by_level_with_the_state_of_the_sampler() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let row = |level: &str, task: u32| {
        json!({"task_id": task.to_string(), "question": format!("{task}?"), "tags": {"level": level},
            "oracle": {"type": "math", "gold": "1"}})
    };
    let rows = json!([row("<9>", 0), row("10", 1), row("9", 2)]);
    writer.post("/api/v1/datasets", &json!({"name": "mine", "purpose": "training", "rows": rows})).await.expect(201);
    let mut document = harness::config();
    document["recipe"] = json!("rlvr");
    document["populations"]["main"]["members"] = json!([{"roles": ["solver"], "count": 1}]);
    document["parameters"] = json!({
        "dataset": {"name": "mine"}, "sampler": {"staircase": {}}, "prompts": "azr", "batch": 1, "n": 2,
        "sampling": {"max_tokens": 64},
    });
    let made = writer.post("/api/v1/runs", &json!({ "config": document })).await.expect(201).json();
    let run = ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    for (step, asked) in [(0, &[(0, 3), (2, 1)][..]), (1, &[(1, 0)])] {
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
        let answers = asked.iter().map(|&(row, correct)| RowAnswersRecord {
            problem: problem_of(run, row),
            row,
            answers: 4,
            correct,
        });
        let records = Records {
            problems: asked.iter().map(|(row, _)| dataset_rows::problem(run, *row)).collect(),
            row_answers: answers.collect(),
            ..Records::default()
        };
        let memory = json!({"members": [], "sampler": {"solver-0": {"level": step, "recent": [0.25]}}});
        let next = locked.state.next("", &memory).expect("a state");
        let plan = Plan { records, finish: Some(next), ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
        tx.commit().await.expect("a commit");
    }
    let page = format!("/runs/{run}/difficulty");
    let read = async |query: &str| writer.get(&format!("{page}.json{query}")).await.expect(200).json();
    let now = read("").await;
    let asked: Vec<_> = now["levels"]["asked"]
        .as_array()
        .expect("answers by level")
        .iter()
        .map(|one| (one["step"].as_i64(), one["value"].as_str(), one["answers"].as_i64(), one["correct"].as_i64()))
        .collect();
    let by_level = [(0, "9", 1), (0, "<9>", 3), (1, "10", 0)];
    assert_eq!(asked, by_level.map(|(step, level, correct)| (Some(step), Some(level), Some(4), Some(correct))));
    assert_eq!(now["sampler"], json!([{"member": "solver-0", "level": 1, "recent": [0.25]}]));
    assert_eq!(read("?to=0").await["sampler"], json!([{"member": "solver-0", "recent": [0.25]}]), "after step 0");
    let exported = writer.get(&format!("/runs/{run}/export/samplers.jsonl")).await.expect(200).text();
    let states: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let known: Vec<_> =
        states.iter().map(|one| (&one["step"], &one["member"], &one["level"], &one["recent"])).collect();
    let (name, recent) = (json!("solver-0"), json!("[0.25]"));
    assert_eq!(known, [(&json!(1), &name, &json!(1), &recent), (&json!(2), &name, &json!(2), &recent)]);
    let html = browser(&writer).get(&page).await.expect(200).text();
    assert_reads_like("difficulty.by-level", &html);
    assert!(html.contains("heat-8") && !html.contains("<9>"), "{html}");
    server.stop().await;
}
