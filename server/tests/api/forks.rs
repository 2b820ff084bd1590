//! What views make of a fork, which has a part of its past from another run.

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::{ExecutionId, ProblemId, WorkId};
use lyceum_core::recipe::{MetricRecord, Plan, Records, RowAnswersRecord};
use lyceum_core::work::WorkKey;
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::commands::says;
use crate::fixtures::records;
use crate::harness::{Actor, TestServer, config};
use crate::outline::attributes;
use crate::views::browser;

/// Steps of the trunk, before the last of which it is forked.
const TRUNK: u32 = 4;
/// Steps of the fork, with those that it took over.
const STEPS: u32 = 10;
/// Where it is forked.
const AT: u32 = TRUNK - 1;

/// A run of two members that took an hour for each of its steps, and its fork, which took half an hour. A step has as many
/// updates as steps were played by then, and 100 tokens.
struct Forked {
    writer: Actor,
    trunk: ExecutionId,
    fork: ExecutionId,
    /// The problems of the trunk's first step, which are its first rows and some of its elites.
    problems: Vec<ProblemId>,
}

async fn started(writer: &Actor, address: &str, body: &Value) -> ExecutionId {
    let made = writer.post(address, body).await.expect(201).json();
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

/// Ends the current step, `number`, with these records.
async fn played(server: &TestServer, run: ExecutionId, number: u32, records: Records) {
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
    let metrics = MetricRecord { member: None, values: vec![f64::from(number + 1), 100.0], ..MetricRecord::default() };
    let plan = Plan {
        records: Records { metrics: vec![metrics], ..records },
        finish: Some(locked.state.next("", &json!({})).expect("a state")),
        ..Plan::default()
    };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
}

async fn forked(server: &TestServer) -> Forked {
    let writer = server.actor(Scope::Write).await;
    let mut config = config();
    config["steps"] = json!(TRUNK);
    let trunk = started(&writer, "/api/v1/runs", &json!({"config": config, "name": "trunk"})).await;
    let weights = server.artifacts.put(ArtifactKind::Adapter, b"weights".to_vec());
    let (mut first, filled) = records(trunk, weights.await.expect("an artifact"), 6);
    let answered =
        |(row, problem): (u32, &ProblemId)| RowAnswersRecord { problem: *problem, row, answers: 4, correct: 1 };
    first.row_answers = (0..).zip(&filled.problems).map(answered).collect();
    played(server, trunk, 0, first).await;
    for number in 1..AT {
        played(server, trunk, number, Records::default()).await;
    }
    let body = json!({"step": AT, "overrides": {"steps": STEPS}});
    let fork = started(&writer, &format!("/api/v1/runs/{trunk}/fork"), &body).await;
    played(server, trunk, AT, Records::default()).await;
    for number in AT..STEPS {
        played(server, fork, number, Records::default()).await;
    }
    for (run, minutes) in [(trunk, 60), (fork, 30)] {
        for statement in [
            "UPDATE executions SET metrics = '{updates,completion_tokens}' WHERE id = $1 AND $2 > 0",
            "UPDATE steps SET started_at = finished_at - make_interval(mins => $2) WHERE execution_id = $1",
        ] {
            sqlx::query(statement).bind(run.0).bind(minutes).execute(server.store.pool()).await.expect("an update");
        }
    }
    Forked { writer, trunk, fork, problems: filled.problems }
}

/// Where a curve of the fork has its points, over hours.
async fn hours(made: &Forked) -> Vec<f64> {
    let address = format!("/compare?runs={}&over=hours&metrics=completion_tokens", made.fork);
    let html = browser(&made.writer).get(&address).await.expect(200).text();
    let data = html.split("id=\"figures\">").nth(1);
    let data = data.and_then(|rest| rest.split("</script>").next()).expect("data");
    let figures: Value = serde_json::from_str(data).expect("JSON");
    let points = figures[0]["series"][0]["points"].as_array().expect("points").clone();
    points.iter().filter_map(|point| point[0].as_f64()).collect()
}

#[actix_web::test]
async fn inherited_steps_have_the_time_that_they_took_where_they_were_done() {
    let server = TestServer::start().await;
    let made = forked(&server).await;
    assert_eq!(
        hours(&made).await,
        [1.0, 2.0, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5],
        "three steps of an hour, then seven of half an hour"
    );
    // Earlier releases deleted a run that had forks.
    sqlx::query("DELETE FROM executions WHERE id = $1")
        .bind(made.trunk.0)
        .execute(server.store.pool())
        .await
        .expect("a deletion");
    assert_eq!(
        hours(&made).await,
        [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5],
        "nobody knows any more how long the inherited steps took"
    );
    server.stop().await;
}

#[actix_web::test]
async fn a_fork_accounts_for_the_steps_that_it_did_itself() {
    let server = TestServer::start().await;
    let made = forked(&server).await;
    let address = format!("/compare.json?runs={},{}", made.trunk, made.fork);
    let page = made.writer.get(&address).await.expect(200).json();
    let of = |place: usize| {
        let account = &page["accounts"][place];
        ["adapters", "steps", "completion_tokens", "updates"].map(|field| account[field].as_f64())
    };
    assert_eq!(of(0), [2.0, 4.0, 200.0, 5.0].map(Some), "updates 1 to 4, of two adapters");
    assert_eq!(of(1), [2.0, 7.0, 350.0, 24.5].map(Some), "updates 4 to 10");

    let cost = says(&server, &["run", "cost", &made.fork.to_string()]).await;
    let cost: Value = serde_json::from_str(&cost).expect("JSON");
    assert_eq!(
        (&cost["steps_counted"], &cost["adapters"], &cost["run_seconds"]),
        (&json!(2), &json!(10), &json!(12_600.0)),
        "the updates of its last step, and seven steps of half an hour"
    );
    server.stop().await;
}

#[actix_web::test]
async fn inherited_problems_are_linked_to_where_they_are() {
    let server = TestServer::start().await;
    let made = forked(&server).await;
    let reader = browser(&made.writer);
    let problem_of = |run: ExecutionId, problem: &ProblemId| format!("/runs/{run}/problems/{problem}");
    let links = async |page: &str| attributes(&reader.get(page).await.expect(200).text(), "href");
    let difficulty = format!("/runs/{}/difficulty", made.fork);
    let rows = links(&difficulty).await;
    for problem in &made.problems {
        let address = problem_of(made.trunk, problem);
        assert!(rows.contains(&address), "{address}: {rows:?}");
        reader.get(&address).await.expect(200);
    }
    let archive = format!("/runs/{}/archive", made.fork);
    let tiles = links(&archive).await;
    let tile = tiles.iter().find_map(|link| link.split_once("tile=")?.1.split('#').next());
    let elites = links(&format!("{archive}?tile={}", tile.expect("a tile"))).await;
    for elite in &made.problems[..4] {
        let address = problem_of(made.trunk, elite);
        assert!(elites.contains(&address), "{address}: {elites:?}");
    }

    // A row that the fork has asked itself.
    let own = ProblemId::of(WorkId::of(made.fork, &WorkKey::new(AT, "rows")), "0", 0);
    for statement in [
        "INSERT INTO problems (id, run_id, step, index, type, prompt, proposal, valid, status, reason, \"values\")
         VALUES ($2, $1, 5, 0, 'math', '', '', true, 'ok', '', '{}')",
        "INSERT INTO row_answers (run_id, row, step, problem_id, answers, correct) VALUES ($1, 8, 5, $2, 4, 4)",
    ] {
        sqlx::query(statement).bind(made.fork.0).bind(own.0).execute(server.store.pool()).await.expect("a row");
    }
    let rows = links(&difficulty).await;
    assert!(rows.contains(&problem_of(made.fork, &own)), "{rows:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_member_that_a_fork_took_over_is_on_the_leaderboard_once_until_the_fork_rates_it() {
    let server = TestServer::start().await;
    let made = forked(&server).await;
    let rated = async |query: &str| -> Vec<Value> {
        let page = made.writer.get(&format!("/leaderboard.json?role=teacher&{query}")).await.expect(200).json();
        let items = page["items"].as_array().expect("members").iter();
        items.map(|item| item["run_id"].clone()).collect()
    };
    let [trunk, fork] = [made.trunk, made.fork].map(|run| json!(run));
    let of_fork = format!("run={}", made.fork);
    let role = rated("").await;
    assert_eq!(role, std::slice::from_ref(&trunk));
    assert_eq!(rated(&of_fork).await, std::slice::from_ref(&fork), "its own page has it");
    sqlx::query("UPDATE standings SET step = $2 WHERE run_id = $1")
        .bind(made.fork.0)
        .bind(AT.cast_signed())
        .execute(server.store.pool())
        .await
        .expect("a rating");
    let mut both = rated("").await;
    both.sort_by_key(|run| *run != trunk);
    assert_eq!(both, [trunk, fork]);
    server.stop().await;
}

#[actix_web::test]
async fn the_time_of_a_run_is_estimated_by_the_fastest_of_those_like_it() {
    let server = TestServer::start().await;
    let made = forked(&server).await;
    let body = json!({ "config": config() });
    let dry = made.writer.post("/api/v1/runs?dry_run=true", &body).await.expect(200).json();
    assert_eq!(
        (&dry["estimate"]["step_seconds"], &dry["estimate"]["like"]),
        (&json!(1800.0), &json!(made.fork)),
        "the trunk may have shared its worker"
    );
    // One that is named counts alone.
    let from = made.writer.get(&format!("/runs/new.json?from={}", made.trunk)).await.expect(200).json();
    assert_eq!(from["estimate"]["step_seconds"], json!(3600.0));
    server.stop().await;
}
