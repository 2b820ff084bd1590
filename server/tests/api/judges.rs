//! Attempts of roles that plan or judge, alongside those that solve.

use lyceum_core::id::{AttemptId, VersionId};
use lyceum_core::recipe::{AttemptRecord, Plan, Records, Role};
use lyceum_core::verify::Status;
use lyceum_store::tokens::Scope;
use lyceum_store::{plan, problems};
use serde_json::json;

use crate::fixtures::{Filled, filled};
use crate::harness::TestServer;
use crate::outline::assert_reads_like;
use crate::views::browser;

/// Attempts that the run counts, those that the cross-play matrix counts, and rows.
async fn counted(server: &TestServer, made: &Filled) -> (i64, i64, i64) {
    sqlx::query_as(
        "SELECT (SELECT attempts::int8 FROM runs WHERE id = $1),
             (SELECT sum(attempts)::int8 FROM cross_play WHERE run_id = $1),
             (SELECT count(*) FROM attempts WHERE run_id = $1)",
    )
    .bind(made.run.0)
    .fetch_one(server.store.pool())
    .await
    .expect("sums")
}

#[actix_web::test]
async fn a_plan_or_a_score_is_no_failed_solution() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    assert_eq!(counted(&server, &made).await, (12, 12, 12));
    let attempt = |(number, role): (u32, Role)| AttemptRecord {
        id: AttemptId::of(made.work, role.name(), number),
        problem: made.problems[0],
        solver: (made.student, VersionId::of(made.student, 0)),
        role,
        sample: number,
        text: if role == Role::Solver { "7" } else { "A long appraisal." }.to_owned(),
        answer: Some("7".to_owned()),
        reading: None,
        well_formed: true,
        status: Status::Ok,
        reason: String::new(),
        correct: true,
        reward: 0.5,
        reward_parts: json!({"quality": 0.5}),
        tokens: 3,
    };
    let roles = [Role::Critic, Role::Planner, Role::Solver];
    let plan = Plan {
        records: Records { attempts: (10..).zip(roles).map(attempt).collect(), ..Records::default() },
        ..Plan::default()
    };
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    sqlx::query("UPDATE steps SET ended = ended + 1 WHERE execution_id = $1")
        .bind(made.run.0)
        .execute(&mut *tx)
        .await
        .expect("an end, so that a plan is due");
    let locked = plan::lock(&mut tx, made.run).await.expect("a lock").expect("a run that is due");
    plan::carry_out(&mut tx, &locked, &plan, 0.001).await.expect("a plan");
    tx.commit().await.expect("a commit");
    assert_eq!(counted(&server, &made).await, (13, 13, 15), "of the three, one solves");
    let candidates = problems::candidates(server.store.pool(), made.run, 10).await.expect("candidates");
    let judged = candidates.iter().find(|candidate| candidate.id == made.problems[0].0);
    assert_eq!(
        judged.and_then(|candidate| candidate.answer_letters),
        Some("It is ␀ 2.".chars().count() as i32),
        "only answers tell how long an answer has to be"
    );
    let reader = server.actor(Scope::Read).await;
    let run = made.run;
    for (side, expected) in [("solves", 13), ("plans", 1), ("judges", 1), ("proposes", 0)] {
        let page = reader.get(&format!("/runs/{run}/attempts.json?side={side}")).await;
        let items = page.expect(200).json()["items"].as_array().map(Vec::len);
        assert_eq!(items, Some(expected), "{side}");
    }
    let page = format!("/runs/{run}/problems/{}", made.problems[0]);
    // Plans and scores have no verdict.
    assert_reads_like("problem.with-a-plan-and-a-score", &browser(&reader).get(&page).await.expect(200).text());
    server.stop().await;
}
