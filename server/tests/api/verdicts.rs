//! The verdict above a run and on the start page.

use lyceum_core::id::ExecutionId;
use lyceum_store::alerts::{self, AlertKind};
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::benchmarks::{imported, measured};
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::outline::{attributes, outline};
use crate::workers::registered;

/// Names the run's metrics and gives it `steps` steps with these values, early and from step 20 on.
async fn recorded(server: &TestServer, run: ExecutionId, steps: i32, metrics: &[(&str, f64, f64)]) {
    let names: Vec<&str> = metrics.iter().map(|(name, ..)| *name).collect();
    let values = |late: bool| -> Vec<f64> {
        let pick = |&(_, before, after): &(&str, f64, f64)| if late { after } else { before };
        metrics.iter().map(pick).collect()
    };
    let db = server.store.pool();
    sqlx::query("UPDATE executions SET metrics = $2 WHERE id = $1")
        .bind(run.0)
        .bind(names)
        .execute(db)
        .await
        .expect("names");
    sqlx::query("DELETE FROM metrics WHERE run_id = $1").bind(run.0).execute(db).await.expect("no values");
    sqlx::query(
        "INSERT INTO metrics (run_id, step, \"values\")
         SELECT $1, step, CASE WHEN step < 20 THEN $3 ELSE $4 END FROM generate_series(0, $2 - 1) AS step",
    )
    .bind(run.0)
    .bind(steps)
    .bind(values(false))
    .bind(values(true))
    .execute(db)
    .await
    .expect("values");
}

async fn verdict(actor: &Actor, run: ExecutionId) -> Value {
    let page = actor.get(&format!("/runs/{run}.json")).await.expect(200).json();
    let table = actor.get("/runs.json").await.expect(200).json();
    let rows = table["items"].as_array().expect("runs");
    let row = rows.iter().find(|row| row["id"] == json!(run)).expect("the run");
    let headline = &page["verdict"]["findings"][0]["label"];
    assert_eq!(&row["verdict"]["label"], headline, "the table says what the run's page says");
    page["verdict"].clone()
}

fn states(verdict: &Value) -> Vec<&str> {
    let findings = verdict["findings"].as_array().expect("findings");
    findings.iter().filter_map(|one| one["state"].as_str()).collect()
}

#[actix_web::test]
async fn a_verdict_is_made_of_the_run_s_rows_and_leads_to_them() {
    let server = TestServer::start().await;
    let (writer, reader) = (server.actor(Scope::Write).await, server.actor(Scope::Read).await);
    let run = filled(&server, 1).await.run;
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found), ["unmeasured"]);
    assert_eq!(found["findings"][0]["label"], "Not measured");
    assert_eq!(found["next"]["address"], format!("/runs/{run}/benchmarks#measure"));

    let metrics = [("format_rate", 0.95, 0.4), ("no_signal_share", 0.5, 0.68), ("solve_rate", 0.5, 0.02)];
    recorded(&server, run, 40, &metrics).await;
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found), ["collapsing", "lost_contact", "unmeasured", "wasted"]);
    assert_eq!(
        found["findings"][0]["sentence"],
        "Collapsing: 40 % of the answers have the required form, 95 % at first."
    );
    assert_eq!(found["findings"][0]["evidence"], format!("/runs/{run}/metrics#chart-format_rate"));
    assert_eq!(found["findings"][3]["sentence"], "68 % of the last steps' problems taught nothing.");
    let html = writer.clone().with("accept", "text/html");
    let page = html.get(&format!("/runs/{run}")).await.expect(200).text();
    let charts = html.get(&format!("/runs/{run}/metrics")).await.expect(200).text();
    assert!(attributes(&charts, "id").contains(&"chart-format_rate".to_owned()), "the evidence is there: {charts}");
    let sentence = found["findings"][0]["sentence"].as_str().expect("a sentence");
    for told in [page, html.get(&format!("/runs/{run}/verdict")).await.expect(200).text()] {
        assert!(outline(&told).contains(sentence), "{told}");
    }
    assert_eq!(verdict(&reader, run).await["next"], Value::Null, "a reader can start nothing");

    recorded(&server, run, 20, &metrics).await;
    assert_eq!(states(&verdict(&writer, run).await), ["unmeasured", "wasted"], "there is no late yet");
    server.stop().await;
}

#[actix_web::test]
async fn runs_that_stall_or_fail_say_so_first() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    let db = server.store.pool();
    for table in [
        "UPDATE executions SET updated_at = now() - interval '2 minutes'",
        "UPDATE work SET progress_at = NULL, started_at = NULL, finished_at = NULL",
    ] {
        sqlx::query(table).execute(db).await.expect("an old run");
    }
    registered(&server, "idle").await;
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found), ["stalled", "unmeasured"]);
    assert_eq!(found["next"]["address"], "/workers");

    let cause = "worker <b>w</b> lost the item\u{202e}\nline two";
    lyceum_store::executions::fail(db, run, cause).await.expect("a failed run");
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found), ["failed", "unmeasured"]);
    assert_eq!(found["findings"][0]["evidence"], format!("/work?run={run}&state=failed"));
    let html = writer.clone().with("accept", "text/html");
    let page = html.get(&format!("/runs/{run}")).await.expect(200).text();
    assert!(outline(&page).contains("worker <b>w</b> lost the item⟨U+202E⟩"), "{page}");
    assert!(!page.contains("<b>w</b>"), "causes are escaped: {page}");
    let latest = writer.get("/.json").await.expect(200).json();
    assert_eq!(latest["latest"]["findings"][0]["state"], "failed", "nothing runs: {latest}");
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_stands_still_says_why() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    let db = server.store.pool();
    sqlx::query("UPDATE executions SET updated_at = now() - interval '2 minutes'")
        .execute(db)
        .await
        .expect("an old run");
    let still = async || {
        let now = writer.get(&format!("/runs/{run}.json")).await.expect(200).json();
        assert_eq!(now["is_stalled"], states(&verdict(&writer, run).await).contains(&"stalled"));
        let listed = alerts::candidates(db).await.expect("candidates");
        assert_eq!(now["is_stalled"], listed.iter().any(|one| one.kind == AlertKind::Stalled));
        now["standstill"].as_str().expect("a standstill").to_owned()
    };
    let becomes = async |change: &str| {
        sqlx::query(AssertSqlSafe(format!("UPDATE work SET {change}"))).execute(db).await.expect("a change");
    };
    assert_eq!(still().await, "Blocked: there is no worker");
    let worker = registered(&server, "idle").await;
    assert_eq!(still().await, "Stalled: nothing has moved for a minute");
    let other = filled(&server, 1).await;
    sqlx::query(
        "UPDATE work SET state = 'running', worker_id = $2, lease_until = now(), progress_at = now() WHERE id = $1",
    )
    .bind(other.work.0)
    .bind(worker.0)
    .execute(db)
    .await
    .expect("an item in progress");
    assert_eq!(still().await, "Queued: the workers also have 1 item of another run");
    becomes("progress_at = now() - interval '2 minutes' WHERE state = 'running'").await;
    assert_eq!(still().await, "Stalled: nothing has moved for a minute", "the other one stands still as well");
    becomes("run_at = now() + interval '1 hour', errors = '[{\"message\": \"no such file\"}]' WHERE state = 'ready'")
        .await;
    assert_eq!(still().await, "Retrying an item that failed: no such file");
    server.stop().await;
}

#[actix_web::test]
async fn held_out_accuracy_is_compared_with_the_base() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    imported(&writer).await;
    let spec = json!({"spec": {"type": "benchmark", "suites": ["gsm8k"], "run": run, "roles": ["student"], "n": 2, "temperature": 1.0}});
    let made = writer.post("/api/v1/evaluations", &spec).await.expect(201).json();
    assert_eq!(states(&verdict(&writer, run).await), ["unmeasured"], "no result is in yet");
    let id = made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    measured(&server, id).await;
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found), ["not_distinguishable"]);
    let finding = &found["findings"][0];
    assert_eq!((&finding["n"], &finding["value"], &finding["reference"]), (&json!(3), &json!(0.5), &json!(0.5)));
    assert!(finding["difference"]["low"].as_f64() < Some(-0.3), "three problems say little: {finding}");
    assert_eq!(finding["evidence"], format!("/runs/{run}#held-out"));
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_warmed_up_is_also_compared_with_itself_at_the_end_of_the_warm_up() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    imported(&writer).await;
    let spec = json!({"spec": {"type": "benchmark", "suites": ["gsm8k"], "run": run, "roles": ["student"], "n": 2, "temperature": 1.0}});
    for later in [7, 0] {
        let made = writer.post("/api/v1/evaluations", &spec).await.expect(201).json();
        measured(&server, made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")).await;
        let moved = sqlx::query("UPDATE benchmark_results SET step = step + $2 WHERE run_id = $1 AND step < $2");
        moved.bind(run.0).bind(later).execute(server.store.pool()).await.expect("a later measurement");
        server.renew_results().await;
    }
    assert_eq!(states(&verdict(&writer, run).await).len(), 1, "it has no warm-up");
    let ended = "INSERT INTO steps (execution_id, step, stage, finished_at) SELECT $1, 0, 'warm-up', now()
        ON CONFLICT (execution_id, step) DO UPDATE SET stage = excluded.stage, finished_at = excluded.finished_at";
    sqlx::query(ended).bind(run.0).execute(server.store.pool()).await.expect("a warm-up");
    let found = verdict(&writer, run).await;
    assert_eq!(states(&found)[1..], ["since_warm_up"], "{found}");
    let finding = &found["findings"][1];
    assert_eq!((&finding["step"], &finding["against"]["step"], &finding["n"]), (&json!(8), &json!(1), &json!(3)));
    server.stop().await;
}

#[actix_web::test]
async fn a_fork_stands_where_the_run_stood_from_which_it_was_forked() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (trunk, fork) = (filled(&server, 1).await.run, filled(&server, 2).await.run);
    imported(&writer).await;
    let spec = json!({"spec": {"type": "benchmark", "suites": ["gsm8k"], "run": trunk, "roles": ["student"], "n": 2, "temperature": 1.0}});
    let made = writer.post("/api/v1/evaluations", &spec).await.expect(201).json();
    measured(&server, made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")).await;
    let inherited = verdict(&writer, trunk).await;
    let step = inherited["findings"][0]["step"].as_i64().expect("a step");
    for (at, states_of_fork) in [(step, "not_distinguishable"), (step - 1, "unmeasured")] {
        sqlx::query("UPDATE runs SET forked_from = $1, forked_at_step = $3 WHERE id = $2")
            .bind(trunk.0)
            .bind(fork.0)
            .bind(at as i32)
            .execute(server.store.pool())
            .await
            .expect("a fork");
        let found = verdict(&writer, fork).await;
        assert_eq!(states(&found), [states_of_fork], "forked at step {at}, measured after {step}");
    }
    let page = writer.get(&format!("/runs/{fork}.json")).await.expect(200).json();
    assert_eq!(
        (&page["held_out"]["inherited_to"], &page["held_out"]["points"][0]["step"]),
        (&json!(step - 1), &json!(0)),
        "it began as the base, through the run that it continues"
    );
    server.stop().await;
}

#[actix_web::test]
async fn a_recipe_without_suites_is_judged_by_the_rows_that_it_holds_out() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    recorded(&server, made.run, 9, &[("held_out_pass_at_1", 0.5, 0.5)]).await;
    for (step, correct) in [(0, 0), (4, 1), (8, 4)] {
        sqlx::query(
            "INSERT INTO held_out_results (run_id, step, member_id, version_id, first_row, n, correct)
             SELECT $1, $2, v.member_id, v.id, 0, 4, array_fill($3::int, ARRAY[30])
             FROM adapter_versions v JOIN members m ON m.id = v.member_id WHERE m.name = 'student-0'",
        )
        .bind(made.run.0)
        .bind(step)
        .bind(correct)
        .execute(server.store.pool())
        .await
        .expect("a measurement");
    }
    server.renew_results().await;
    let found = verdict(&writer, made.run).await;
    assert_eq!(states(&found), ["learning"]);
    let finding = &found["findings"][0];
    assert_eq!((&finding["step"], &finding["value"], &finding["reference"]), (&json!(8), &json!(1.0), &json!(0.0)));
    assert_eq!(finding["evidence"], format!("/runs/{}/metrics#chart-held_out_pass_at_1", made.run));
    server.stop().await;
}
