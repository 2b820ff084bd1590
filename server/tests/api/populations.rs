//! Pages of a run with two populations of other roles than teacher and student, a critic among them.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::fixtures::filled;
use crate::harness::TestServer;
use crate::outline::{assert_reads_like, island, outline};
use crate::views::browser;

/// Makes the teacher a challenger, the student a solver of a second population, and adds a critic to that population.
const RECAST: [&str; 8] = [
    "UPDATE executions SET config = jsonb_set(config::jsonb, '{populations,second}', config::jsonb->'populations'->'main')",
    "UPDATE members SET roles = CASE WHEN 'teacher' = ANY(roles) THEN ARRAY['challenger'] ELSE ARRAY['solver'] END",
    "INSERT INTO populations (id, run_id, name, base_model, lora)
         SELECT gen_random_uuid(), run_id, 'second', '{\"name\": \"another\"}', lora FROM populations",
    "UPDATE members SET population_id = (SELECT id FROM populations WHERE name = 'second') WHERE 'solver' = ANY(roles)",
    "INSERT INTO members (id, run_id, population_id, name, roles, born_step)
         SELECT gen_random_uuid(), run_id, id, 'critic-0', ARRAY['critic'], 0 FROM populations WHERE name = 'second'",
    "UPDATE ratings SET role = 'challenger'",
    "UPDATE standings SET role = 'challenger'",
    "UPDATE attempts SET role = 'solver'",
];

#[actix_web::test]
async fn pages_use_the_names_of_a_run_s_own_roles_and_populations() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for statement in RECAST {
        sqlx::query(statement).execute(server.store.pool()).await.expect("another cast");
    }
    let run = made.run;
    let shown = async |page: &str| browser(&reader).get(&format!("/runs/{run}{page}")).await.expect(200).text();
    for page in ["/arms-race", "/population", "/cross-play", "/problems"] {
        let html = shown(page).await;
        assert_reads_like(&format!("roles{}", page.replace('/', ".")), &html);
        let own = outline(&html).replace("teacher-0", "").replace("student-0", "");
        let own = own.replace("?teacher=", "").replace("&student=", "");
        assert!(!own.contains("tudent"), "{page} speaks of students: {own}");
    }
    let member = format!("/members/{}", made.teacher);
    assert_reads_like("roles.members", &shown(&member).await);
    let curves = island(&shown("/metrics").await, "data").expect("data");
    let members = curves["members"].as_array().expect("members");
    let critic = members.iter().find(|member| member["name"] == "critic-0");
    let critic = critic.expect("a critic");
    assert_eq!((&critic["group"], &critic["sides"]), (&json!("critics of second"), &json!(["judging"])));
    server.stop().await;
}
