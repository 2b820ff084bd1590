//! The lab: what runs came to, filters that complete, curves over one another, and an empty one.

use lyceum_core::id::ExecutionId;
use lyceum_server::lab::{LabSettings, Space};
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::outline::{assert_reads_like, attributes, island};
use crate::results::{Written, prepared};

async fn row(actor: &Actor, run: ExecutionId) -> Value {
    let table = actor.get("/runs.json").await.expect(200).json();
    let rows = table["items"].as_array().expect("runs");
    rows.iter().find(|row| row["id"] == json!(run)).expect("the run").clone()
}

#[actix_web::test]
async fn a_full_disk_is_told_by_readyz_and_the_lab() {
    let folders = vec![std::env::temp_dir()];
    let [full, roomy] = [u64::MAX, 1].map(|least| Space { folders: folders.clone(), least });
    for (space, is_full) in [(full, true), (roomy, false)] {
        let server = TestServer::with(|settings| LabSettings { space, ..settings }).await;
        let reader = server.actor(Scope::Read).await;
        let ready = reader.get("/readyz").await.expect(if is_full { 503 } else { 200 }).text();
        assert_eq!(ready.contains("MiB left: free some space"), is_full, "{ready}");
        let lab = reader.get("/").await.expect(200).text();
        assert_eq!(lab.contains("Nothing can be stored"), is_full, "{lab}");
        server.stop().await;
    }
}

#[actix_web::test]
async fn a_run_is_judged_by_its_latest_comparable_result_and_a_fork_inherits_it() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (run, dataset) = prepared(&server, &writer).await;
    assert_eq!(row(&writer, run).await["outcome"], Value::Null);
    let of = |name, step, dataset, correct| Written { run, name, step, dataset, temperature: 0.0, correct };
    of("base", None, Some(dataset), &[0, 1, 0, 0]).write(&server).await;
    of("student-0", Some(10), Some(dataset), &[1, 1, 0, 0]).write(&server).await;
    of("student-0", Some(20), Some(dataset), &[1, 1, 1, 0]).write(&server).await;
    let judged = row(&writer, run).await["outcome"].clone();
    let read = [
        &judged["step"],
        &judged["pass_at_1"],
        &judged["reference"],
        &judged["rows"],
        &judged["steps"],
        &judged["scores"],
    ];
    assert_eq!(read, [&json!(20), &json!(0.75), &json!(0.25), &json!(4), &json!([10, 20]), &json!([0.5, 0.75])]);

    let fork = ExecutionId(uuid::Uuid::from_u128(7));
    sqlx::query(
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, step, steps)
             SELECT $2, 'run', recipe, config, 'running', 15, steps FROM executions WHERE id = $1)
         INSERT INTO runs (id, name, arm, seed, forked_from, forked_at_step) SELECT $2, 'fork', arm, seed, id, 15 FROM runs WHERE id = $1",
    )
    .bind(run.0)
    .bind(fork.0)
    .execute(server.store.pool())
    .await
    .expect("a fork");
    let inherited = row(&writer, fork).await["outcome"].clone();
    assert_eq!((&inherited["step"], &inherited["run_id"]), (&json!(10), &json!(run)), "before it left its run");
    let sorted = writer.get("/runs.json?sort=difference").await.expect(200).json();
    let names: Vec<_> = sorted["items"].as_array().expect("runs").iter().map(|row| &row["outcome"]["step"]).collect();
    assert_eq!(names, [&json!(20), &json!(10)]);

    sqlx::query("DELETE FROM benchmark_results WHERE step = 20").execute(server.store.pool()).await.expect("gone");
    server.renew_results().await;
    assert_eq!(row(&writer, run).await["outcome"]["step"], 10);
    sqlx::query("DELETE FROM benchmark_results").execute(server.store.pool()).await.expect("gone");
    server.renew_results().await;
    assert_eq!(row(&writer, fork).await["outcome"], Value::Null);
    server.stop().await;
}

#[actix_web::test]
async fn the_cost_of_a_run_is_what_workers_worked_on_its_finished_steps() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    assert_eq!(row(&writer, run).await["worker_seconds"], Value::Null);
    for statement in [
        "UPDATE work SET state = 'done', result = '{}', lease_until = NULL, started_at = now() - interval '90 seconds', finished_at = now()",
        "UPDATE steps SET finished_at = now()",
        "UPDATE steps SET finished_at = now() + interval '1 second'",
    ] {
        sqlx::query(statement).execute(server.store.pool()).await.expect("a step that ends");
    }
    assert_eq!(row(&writer, run).await["worker_seconds"], 90.0);
    server.stop().await;
}

#[actix_web::test]
async fn a_filter_leads_to_an_address_and_one_that_is_unknown_is_refused_with_the_nearest() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer.post("/api/v1/experiments", &json!({"name": "ranks & seeds"})).await.expect(201).json();
    let id = made["id"].as_str().expect("an id");
    let browser = writer.clone().with("accept", "text/html");
    for (added, leads) in [
        ("filter=state%3Drunning&q=a", "/?q=a&state=running".to_owned()),
        ("filter=two+words&state=failed", "/?state=failed&q=two%20words".to_owned()),
        ("filter=experiment%3Dranks+%26+seeds", format!("/?experiment={id}")),
        (
            "filter=metrics.solve_rate%3E%3D0.5&where=config.seed%3D1",
            "/?where=config%2Eseed%3D1%2Cmetrics%2Esolve%5Frate%3E%3D0%2E5".to_owned(),
        ),
        ("column=metrics.kl&columns=config.seed", "/?columns=config%2Eseed%2Cmetrics%2Ekl".to_owned()),
    ] {
        let moved = browser.get(&format!("/?{added}")).await.expect(303);
        assert_eq!(moved.header("location"), leads, "{added}");
    }
    for (added, meant) in [
        ("sttae%3Drunning", "`state`"),
        ("recipe%3Dscritped", "`scripted`"),
        ("experiment%3Dnone", "`none`"),
        ("solve_rate%3E0", "`metrics.solve_rate>=0.5`"),
    ] {
        let refused = writer.get(&format!("/.json?filter={added}")).await.expect(400).json();
        let fault = &refused["errors"][0];
        assert_eq!(fault["parameter"], "filter", "{refused}");
        assert!(fault["detail"].as_str().is_some_and(|said| said.contains(meant)), "{refused}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn ticked_runs_are_drawn_over_one_another_if_they_were_measured_alike() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (one, dataset) = prepared(&server, &writer).await;
    let other = filled(&server, 1).await.run;
    let unmeasured = filled(&server, 1).await.run;
    for run in [one, other] {
        let of = |name, step, correct| Written { run, name, step, dataset: Some(dataset), temperature: 0.0, correct };
        of("base", None, &[0, 1, 0, 0]).write(&server).await;
        of("student-0", Some(10), &[1, 1, 0, 0]).write(&server).await;
    }
    let browser = writer.clone().with("accept", "text/html");
    let address = format!("/?overlay={one}&overlay={other}&overlay={unmeasured}");
    let moved = browser.get(&address).await.expect(303);
    let page = browser.get(moved.header("location")).await.expect(200).text();
    let figures = island(&page, "figures").expect("figures");
    let curves: Vec<_> =
        figures[0]["series"].as_array().expect("curves").iter().map(|curve| &curve["points"]).collect();
    assert_eq!(curves, [&json!([[0.0, 0.25], [10.0, 0.25]]), &json!([[10.0, 0.5]]), &json!([[10.0, 0.5]])]);
    assert_eq!(attributes(&page, "checked").len(), 3, "they are ticked");
    assert_reads_like("lab.overlay", &page);
    for (run, tokens) in [(one, 2e6), (other, 3e6)] {
        for statement in [
            "UPDATE executions SET metrics = '{completion_tokens}' WHERE id = $1 AND $2 > 0",
            "UPDATE metrics SET \"values\" = ARRAY[$2] WHERE run_id = $1",
        ] {
            sqlx::query(statement).bind(run.0).bind(tokens).execute(server.store.pool()).await.expect("an update");
        }
    }
    let address = format!("/compare?runs={one},{other}&over=tokens&arms=true");
    let page = browser.get(&address).await.expect(200).text();
    let figures = island(&page, "figures").expect("figures");
    let curves = figures[0]["series"].as_array().expect("curves");
    let points: Vec<_> = curves.iter().map(|curve| &curve["points"]).collect();
    assert_eq!(points, [&json!([[0.0, 0.25], [3.0, 0.25]]), &json!([[2.0, 0.5]]), &json!([[3.0, 0.5]])]);
    assert!(figures[0]["x"].as_str().is_some_and(|axis| axis.contains("tokens")), "{figures}");
    let colours: Vec<_> = curves.iter().map(|curve| curve["place"].as_u64()).collect();
    assert_eq!(colours[0], None);
    assert!(colours[1].is_some() && colours[2].is_some(), "{colours:?}");
    let nobody = uuid::Uuid::nil();
    for wrong in [format!("{nobody}"), "x".to_owned()] {
        let refused = writer.get(&format!("/.json?overlay={wrong}")).await.expect(400).json();
        assert_eq!(refused["errors"][0]["parameter"], "overlay", "{refused}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn an_empty_lab_has_one_button_and_the_list_of_runs_leads_to_the_lab() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let browser = writer.clone().with("accept", "text/html");
    let page = browser.get("/").await.expect(200).text();
    let bodies = attributes(&page, "data-body");
    assert_eq!(bodies.len(), 1, "{page}");
    assert_reads_like("lab.empty", &page);
    let moved = browser.get("/runs?q=a&sort=step").await.expect(303);
    assert_eq!(moved.header("location"), "/?q=a&sort=step");
    writer.get("/runs").await.expect(303);
    writer.get("/runs.json").await.expect(200);
    server.stop().await;
}
