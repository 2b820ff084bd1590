//! Sweeps: arms x seeds x a grid, begun as others end.

use lyceum_server::lab::Pace;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::time::Duration;

use crate::experiment_page::judged;
use crate::harness::{Actor, TestServer, config};

/// A server that begins the runs of sweeps.
async fn coordinating() -> TestServer {
    let pace = Pace { look: Duration::from_millis(20), ..Pace::default() };
    TestServer::with(|settings| lyceum_server::lab::LabSettings { coordinate: Some(pace), ..settings }).await
}

fn plan() -> Value {
    json!({
        "title": "widths",
        "seeds": [1, 2],
        "concurrency": 2,
        "arms": {"small": {"preset": "small"}, "own": {"config": config(), "overrides": {"steps": 5}}},
        "grid": {"parameters.width": [3, 4]},
    })
}

async fn begun(writer: &Actor, plan: &Value) -> Value {
    writer.post("/api/v1/sweeps", &json!({"plan": plan})).await.expect(201).json()
}

/// The sweep, as soon as it is as wanted.
async fn once(writer: &Actor, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let sweep = writer.get(&format!("/api/v1/sweeps/{id}")).await.expect(200).json();
        if wanted(&sweep) {
            return sweep;
        }
    }
}

/// Ends all runs of a sweep that are in progress.
async fn end_runs(server: &TestServer) {
    sqlx::query("UPDATE executions SET state = 'completed', finished_at = now() WHERE state = 'running'")
        .execute(server.store.pool())
        .await
        .expect("an update");
}

#[actix_web::test]
async fn runs_begin_as_others_end_until_all_have() {
    let server = coordinating().await;
    let writer = server.actor(Scope::Write).await;
    let sweep = begun(&writer, &plan()).await;
    let id = sweep["id"].as_str().expect("an id").to_owned();
    assert_eq!((&sweep["runs"], &sweep["state"]), (&json!(8), &json!("running")));
    for planned in [6, 4, 2, 0] {
        let now = once(&writer, &id, |sweep| sweep["planned"] == json!(planned)).await;
        assert_eq!(now["open"], json!(2), "{now}");
        end_runs(&server).await;
    }
    let over = once(&writer, &id, |sweep| sweep["state"] == "completed").await;
    assert_eq!((&over["completed"], &over["failed"]), (&json!(8), &json!(0)));

    let runs = writer.get(&format!("/api/v1/sweeps/{id}/runs")).await.expect(200).json();
    let runs = runs["items"].as_array().expect("runs").clone();
    let names: Vec<&str> = runs.iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(names[..3], ["own/width=3/1", "own/width=4/1", "small/width=3/1"]);
    let first = runs[0]["run_id"].as_str().expect("a run");
    let run = writer.get(&format!("/api/v1/runs/{first}")).await.expect(200).json();
    assert_eq!(
        (&run["config"]["parameters"]["width"], &run["seed"], &run["steps"], &run["experiment"]),
        (&json!(3), &json!(1), &json!(5), &json!("widths"))
    );
    let experiment = sweep["experiment_id"].as_str().expect("an experiment");
    let page = format!("/experiments/{experiment}");
    let shown = async || writer.get(&format!("{page}.json")).await.expect(200).json()["sweeps"][0].clone();
    let ended = shown().await;
    assert_eq!((&ended["runs"], &ended["completed"]), (&json!(8), &json!(8)), "{ended}");
    assert_eq!(ended["rows"][0]["point"], json!(["3"]), "{ended}");
    // A run that is deleted has not failed.
    writer.delete(&format!("/api/v1/runs/{first}")).await.expect(204);
    let without = once(&writer, &id, |_| true).await;
    assert_eq!((&without["completed"], &without["failed"]), (&json!(7), &json!(0)));
    let without = shown().await;
    assert_eq!((&without["open"], &without["planned"]), (&json!(0), &json!(0)), "{without}");
    server.stop().await;
}

#[actix_web::test]
async fn a_plan_with_a_fault_is_refused_where_it_is_and_nothing_is_made() {
    let server = coordinating().await;
    let writer = server.actor(Scope::Write).await;
    let changed = |place: &str, value: Value| {
        let mut plan = plan();
        *plan.pointer_mut(place).expect("a place") = value;
        plan
    };
    for (plan, pointer) in [
        (changed("/grid", json!({"parameters.breadth": [1]})), "/plan/grid/parameters.breadth"),
        (changed("/grid", json!({"parameters.width": [3, 13]})), "/plan/grid/parameters.width"),
        (changed("/grid", json!({"parameters.width": [3, "x"]})), "/plan/grid/parameters.width"),
        (changed("/arms/own/overrides", json!({"stepz": 5})), "/plan/arms/own/overrides/stepz"),
        (changed("/arms/small/preset", json!("smal")), "/plan/arms/small/preset"),
        (changed("/seeds", json!([])), "/plan/seeds"),
        (changed("/concurrency", json!(0)), "/plan/concurrency"),
        (changed("/title", json!("")), "/plan/title"),
    ] {
        let refused = writer.post("/api/v1/sweeps", &json!({ "plan": plan })).await.expect(422);
        assert_eq!(refused.places(), [pointer], "{refused:?}");
    }
    for (body, pointer) in
        [(json!({}), ""), (json!({"file": "title = 1", "plan": {}}), "/plan"), (json!({"file": "title = "}), "/file")]
    {
        let refused = writer.post("/api/v1/sweeps", &body).await.expect(422);
        assert_eq!(refused.places(), [pointer], "{refused:?}");
    }
    let nothing = |list: Value| list["items"].as_array().is_some_and(Vec::is_empty);
    for list in ["experiments", "sweeps", "runs"] {
        assert!(nothing(writer.get(&format!("/api/v1/{list}")).await.expect(200).json()), "{list}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_thousand_runs_are_asked_about() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let mut plan = plan();
    plan["arms"] = json!({"small": {"preset": "small"}});
    plan["grid"] = json!({});
    plan["seeds"] = (0..1_000).collect::<Value>();
    let refused = writer.post("/api/v1/sweeps", &json!({ "plan": plan })).await.expect(422);
    assert_eq!(refused.places(), ["/confirm_runs"]);
    assert!(refused.text().contains("1000 runs"), "{refused:?}");
    let wrong = json!({"plan": plan, "confirm_runs": 999});
    assert_eq!(writer.post("/api/v1/sweeps", &wrong).await.expect(422).places(), ["/confirm_runs"]);
    let outlook = writer.post("/api/v1/sweeps?dry_run=true", &json!({ "plan": plan })).await.expect(200).json();
    assert_eq!((&outlook["runs"], &outlook["seconds"]), (&json!(1000), &Value::Null));
    let meant = json!({"plan": plan, "confirm_runs": 1000});
    let sweep = writer.post("/api/v1/sweeps", &meant).await.expect(201).json();
    assert_eq!((&sweep["runs"], &sweep["planned"]), (&json!(1000), &json!(1000)));
    server.stop().await;
}

#[actix_web::test]
async fn a_budget_is_held_before_and_while_runs_begin() {
    let server = coordinating().await;
    let writer = server.actor(Scope::Write).await;
    // A run like those to come, whose steps took an hour each.
    let like = writer.post("/api/v1/runs", &json!({"preset": "small"})).await.expect(201).json();
    let like = like["id"].as_str().expect("an id");
    // First, since the coordinator plans its steps for as long as it runs.
    sqlx::query("UPDATE executions SET state = 'completed', finished_at = now(), step = 3 WHERE id = $1::uuid")
        .bind(like)
        .execute(server.store.pool())
        .await
        .expect("an update");
    sqlx::query(
        "UPDATE steps SET started_at = now() - interval '1 hour', finished_at = now() WHERE execution_id = $1::uuid",
    )
    .bind(like)
    .execute(server.store.pool())
    .await
    .expect("an update");
    let plan = json!({
        "title": "long", "seeds": [1, 2], "concurrency": 2, "arms": {"small": {"preset": "small"}}, "budget": {"hours": 2},
    });
    let outlook = writer.post("/api/v1/sweeps?dry_run=true", &json!({ "plan": plan })).await.expect(200).json();
    let seconds = outlook["seconds"].as_f64().expect("a time");
    assert!((seconds - 3.0 * 3600.0).abs() < 60.0, "{outlook}");
    let refused = writer.post("/api/v1/sweeps", &json!({ "plan": plan })).await.expect(422);
    assert_eq!(refused.places(), ["/plan/budget"]);
    assert!(refused.text().contains("the budget is 2 h 0 min"), "{refused:?}");

    let mut enough = plan.clone();
    enough["budget"] = json!({"hours": 4});
    enough["concurrency"] = json!(1);
    enough["seeds"] = json!([1]);
    let sweep = begun(&writer, &enough).await;
    let id = sweep["id"].as_str().expect("an id");
    // As if it had begun long ago and its run were still to come.
    sqlx::query("UPDATE sweeps SET created_at = now() - interval '5 hours', concurrency = 2 WHERE id = $1::uuid")
        .bind(id)
        .execute(server.store.pool())
        .await
        .expect("an update");
    sqlx::query(
        "INSERT INTO sweep_runs (sweep_id, ordinal, arm, point, seed, name) VALUES ($1::uuid, 9, 'small', '{}', 9, 'late')",
    )
    .bind(id)
    .execute(server.store.pool())
    .await
    .expect("a run");
    let spent = once(&writer, id, |sweep| sweep["state"] == "paused").await;
    assert!(spent["reason"].as_str().is_some_and(|why| why.contains("budget")), "{spent}");
    assert_eq!(spent["planned"].as_i64().map(|planned| planned >= 1), Some(true), "{spent}");
    server.stop().await;
}

#[actix_web::test]
async fn a_sweep_can_be_paused_changed_and_cancelled() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let sweep = begun(&writer, &plan()).await;
    let address = format!("/api/v1/sweeps/{}", sweep["id"].as_str().expect("an id"));
    let state = async |action: &str, status: u16| {
        let answer = writer.act(&format!("{address}/{action}")).await.expect(status).json();
        answer["state"].clone()
    };
    assert_eq!(state("pause", 200).await, "paused");
    state("pause", 409).await;
    assert_eq!(state("resume", 200).await, "running");
    let changed = writer.patch(&address, &json!({"concurrency": 5, "budget_seconds": 60})).await.expect(200).json();
    assert_eq!((&changed["concurrency"], &changed["budget_seconds"]), (&json!(5), &json!(60.0)));
    assert_eq!(state("cancel", 200).await, "cancelled");
    state("resume", 409).await;
    let again = writer.post("/api/v1/sweeps", &json!({"plan": plan()})).await.expect(409);
    assert!(again.text().contains("widths"), "{again:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_sweep_begins_no_more_runs_once_its_stopping_rule_has_decided() {
    let server = coordinating().await;
    let writer = server.actor(Scope::Write).await;
    let plan = json!({
        "title": "enough",
        "seeds": [1, 2, 3, 4, 5, 6, 7, 8],
        "concurrency": 2,
        "arms": {"a": {"config": config(), "overrides": {"parameters.width": 3}}, "b": {"config": config(), "overrides": {"parameters.width": 4}}},
        "stopping": {"h1": 0.1},
    });
    let sweep = begun(&writer, &plan).await;
    let id = sweep["id"].as_str().expect("an id").to_owned();
    for seed in 1..=5 {
        once(&writer, &id, |sweep| sweep["open"] == json!(2)).await;
        judged(&server, 3, seed, "completed", 0.3).await;
        judged(&server, 4, seed, "completed", 0.4 + f64::from(seed) / 1000.0).await;
    }
    let paused = once(&writer, &id, |sweep| sweep["state"] == "paused").await;
    assert!(paused["reason"].as_str().is_some_and(|reason| reason.contains("stopping rule")), "{paused}");
    // The next run of the first arm may have begun before the last pair was complete.
    assert!(paused["planned"].as_u64().is_some_and(|planned| planned >= 5), "the others are held back: {paused}");
    server.stop().await;
}
