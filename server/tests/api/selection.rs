//! What selection did in a run.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::filled;
use crate::harness::TestServer;

/// Ten steps in which a teacher meets three more students; the first solves least and the second most, and the
/// teacher earns most with the second. The first is culled.
const PLAYED: [&str; 5] = [
    "SET LOCAL session_replication_role = replica",
    "UPDATE executions SET recipe = 'populora', config = config || '{\"recipe\": \"populora\", \"parameters\": {}}'",
    "INSERT INTO members (id, run_id, population_id, name, roles, born_step, died_step, cause_of_death)
     SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, run_id, population_id, 'student-' || n, roles, 0,
         CASE n WHEN 1 THEN 9 END, CASE n WHEN 1 THEN 'culled' END
     FROM members, generate_series(1, 3) n WHERE name = 'student-0'",
    "INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate, student_score,
         teacher_reward, predicted, winner)
     SELECT gen_random_uuid(), s.run_id, step, t.id, s.id, 16, 16, r.rate, r.rate, r.reward, 0.5, 'student'
     FROM generate_series(0, 9) step, members s JOIN members t ON t.run_id = s.run_id AND t.name = 'teacher-0'
         JOIN (VALUES ('student-1', 0.1, 0.1), ('student-2', 0.6, 0.4), ('student-3', 0.3, 0.2)) r (name, rate, reward)
         ON r.name = s.name ORDER BY step, s.name",
    "INSERT INTO benchmark_results (id, evaluation_id, suite, subject, name, role, run_id, member_id, step, base_model,
         row_set, decoding, protocol, n, rows, samples, correct, pass_at_1, standard_error, completion_tokens, seconds)
     SELECT gen_random_uuid(), gen_random_uuid(), 'gsm8k', 0, m.name, 'student', run_id, m.id, 8, 'seedling', 'four', 'greedy', '{}', 1, 4,
         '{1,1,1,1}', r.correct::int[], 0, 0, 0, 0
     FROM members m JOIN (VALUES ('student-1', '{1,0,0,0}'), ('student-2', '{1,1,1,0}'), ('student-3', '{1,1,0,0}'))
         r (name, correct) ON r.name = m.name",
];

#[actix_web::test]
async fn a_cull_is_shown_with_held_out_ranks_and_with_whom_other_rules_would_have_culled() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let run = filled(&server, 6).await.run;
    let none = reader.get(&format!("/api/v1/runs/{run}/selection")).await.expect(200).json();
    assert_eq!(none, Value::Null, "its recipe does not evolve a population");
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    for statement in PLAYED {
        sqlx::query(statement).execute(&mut *tx).await.expect(statement);
    }
    tx.commit().await.expect("a commit");

    let shown = reader.get(&format!("/api/v1/runs/{run}/selection")).await.expect(200).json();
    assert_eq!((&shown["matchup_score"], &shown["culling"]), (&json!("per_role"), &json!("rating")));
    let cull = &shown["items"][0];
    let id = |n: u32| json!(format!("00000000-0000-0000-0000-00000000000{n}"));
    assert_eq!((&cull["step"], &cull["role"], &cull["measured"]), (&json!(9), &json!("student"), &json!(8)));
    assert_eq!(cull["culled"], json!([id(1)]));
    assert_eq!(cull["verdicts"]["per_role"], json!([id(1)]));
    assert_eq!(cull["verdicts"]["solve_rate"], json!([id(1)]));
    assert_eq!(cull["verdicts"]["reward"], json!([id(2)]), "teachers earn most from it");
    let candidates = cull["candidates"].as_array().expect("candidates");
    let ranks: Vec<_> = candidates.iter().map(|one| (one["name"].as_str(), one["rank"].as_i64())).collect();
    assert_eq!(
        ranks,
        [(Some("student-1"), Some(3)), (Some("student-3"), Some(2)), (Some("student-2"), Some(1))],
        "student-0 was born of a teacher in step 0, and is protected"
    );
    assert_eq!((&shown["differential"]["mean"], &shown["differential"]["culled"]), (&json!(0.25), &json!(1)));

    let page = reader.get(&format!("/runs/{run}/population.json")).await.expect(200).json();
    assert_eq!(page["selection"], shown);
    let html =
        reader.clone().with("accept", "text/html").get(&format!("/runs/{run}/population")).await.expect(200).text();
    assert!(html.contains("id=\"selection\""), "{html}");
    server.stop().await;
}
