//! Problems by how often they were solved: kept as they are written, and equal to what counting them says.

use lyceum_core::id::{ExecutionId, ProblemId, WorkId};
use lyceum_core::recipe::{Plan, ProblemOutcomeRecord, ProblemRecord, Records};
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::WorkKey;
use lyceum_store::problems::{self, SolveBand};
use lyceum_store::steps::Stretch;
use lyceum_store::tokens::Scope;
use lyceum_store::{plan, runs};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer, config};

const STEPS: u32 = 3;
const PROBLEMS: u32 = 6;
const BANDS: u32 = 4;

/// What a plan writes of problems, whose places are step and index: those proposed in its own step, and verdicts, which may
/// be about an earlier step, come again, or come before the problem. `None` takes a verdict back.
#[derive(Clone, Debug)]
struct Written {
    proposed: Vec<u32>,
    judged: Vec<(u32, u32, Option<u32>)>,
    again: bool,
}

fn written() -> impl Strategy<Value = Written> {
    let judged = vec((0..STEPS, 0..PROBLEMS, option::weighted(0.8, 0..=8u32)), 2..10);
    (vec(0..PROBLEMS, 2..6), judged, any::<bool>()).prop_map(|(proposed, judged, again)| Written {
        proposed,
        judged,
        again,
    })
}

fn problem_at(run: ExecutionId, step: u32, index: u32) -> ProblemId {
    ProblemId::of(WorkId::of(run, &WorkKey::new(step, "propose")), "p", index)
}

impl Written {
    fn records(&self, run: ExecutionId, step: u32) -> Records {
        let proposed = |index: &u32| ProblemRecord::new(problem_at(run, step, *index), *index, ProblemKind::CodeO);
        let judged = |(of, index, solved): &(u32, u32, Option<u32>)| ProblemOutcomeRecord {
            problem: problem_at(run, *of, *index),
            solve_rate: solved.map(|solved| solved as f32 / 8.0),
            attempts: solved.map_or(0, |_| 8),
            reward: 0.0,
            reward_parts: Value::Null,
        };
        // A plan names a problem once; the last verdict on it holds.
        let mut outcomes: Vec<ProblemOutcomeRecord> = Vec::new();
        for outcome in self.judged.iter().map(judged) {
            outcomes.retain(|earlier| earlier.problem != outcome.problem);
            outcomes.push(outcome);
        }
        let mut indices = self.proposed.clone();
        indices.sort_unstable();
        indices.dedup();
        Records { problems: indices.iter().map(proposed).collect(), outcomes, ..Records::default() }
    }
}

async fn started(writer: &Actor, address: &str, body: &Value) -> ExecutionId {
    let made = writer.post(address, body).await.expect(201).json();
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

/// Carries out a run whose steps' plans write this.
async fn carried_out(db: &PgPool, run: ExecutionId, steps: &[Vec<Written>]) {
    for (step, plans) in (0..).zip(steps) {
        let mut tx = db.begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
        for written in plans {
            let plan = Plan { records: written.records(run, step), ..Plan::default() };
            for _ in 0..1 + u32::from(written.again) {
                plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
            }
        }
        let next = locked.state.next("", &json!({})).expect("a state");
        let end = Plan { finish: Some(next), ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &end, 0.0).await.expect("an end");
        tx.commit().await.expect("a commit");
    }
}

async fn counted(db: &PgPool, run: ExecutionId) -> Vec<SolveBand> {
    sqlx::query_as(
        "SELECT step, CASE WHEN solve_rate <= 0 THEN 0 WHEN solve_rate >= 1 THEN $2 + 1
             ELSE least(floor(solve_rate * $2)::int, $2 - 1) + 1 END AS band, count(*) AS problems
         FROM problems WHERE run_id = $1 AND solve_rate IS NOT NULL AND attempts > 0 GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .bind(run.0)
    .bind(BANDS.cast_signed())
    .fetch_all(db)
    .await
    .expect("counts")
}

async fn kept(db: &PgPool, run: ExecutionId) -> Vec<SolveBand> {
    problems::solve_bands(db, run, Stretch::whole(1), BANDS).await.expect("bands")
}

#[actix_web::test]
async fn what_is_kept_is_what_counting_says() {
    let server = TestServer::start().await;
    let db = server.store.pool();
    let writer = server.actor(Scope::Write).await;
    let mut runner = TestRunner::default();
    let runs = (vec(vec(written(), 1..4), STEPS as usize), vec(vec(written(), 1..4), STEPS as usize));
    let mut problems = 0;
    for case in 0..12 {
        let (trunk, branch) = runs.new_tree(&mut runner).expect("a case").current();
        let body = json!({"config": config(), "name": format!("trunk {case}")});
        let run = started(&writer, "/api/v1/runs", &body).await;
        let fork = started(&writer, &format!("/api/v1/runs/{run}/fork"), &json!({"step": 0})).await;
        carried_out(db, run, &trunk).await;
        carried_out(db, fork, &branch).await;
        for (run, steps) in [(run, &trunk), (fork, &branch)] {
            let kept = kept(db, run).await;
            assert_eq!(kept, counted(db, run).await, "{steps:?}");
            problems += kept.iter().map(|band| band.problems).sum::<i64>();
        }
        sqlx::query("DELETE FROM problems WHERE run_id = $1 AND index < 2")
            .bind(fork.0)
            .execute(db)
            .await
            .expect("gone");
        assert_eq!(kept(db, fork).await, counted(db, fork).await, "{branch:?}");
        runs::remove(db, fork).await.expect("removed");
        assert_eq!(kept(db, fork).await, []);
    }
    assert!(problems > 100, "{problems} problems with a verdict were compared");
    server.stop().await;
}

#[actix_web::test]
async fn attempts_at_questions_are_attempts() {
    let server = TestServer::start().await;
    let run = filled(&server, 6).await.run;
    sqlx::query("UPDATE problems SET program = NULL WHERE run_id = $1")
        .bind(run.0)
        .execute(server.store.pool())
        .await
        .expect("questions");
    let reader = server.actor(Scope::Read).await;
    let address = format!("/runs/{run}/learnability");
    let page = reader.get(&format!("{address}.json")).await.expect(200).json();
    assert_eq!(page["looked_at"], 0, "only programs can be suspicious");
    assert!(!page["bands"].as_array().expect("bands").is_empty());
    let html = reader.with("accept", "text/html").get(&address).await.expect(200).text();
    assert!(!html.contains("No problem has been attempted"), "{html}");
    server.stop().await;
}
