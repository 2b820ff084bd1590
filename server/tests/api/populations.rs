//! Pages of a run with two populations of other roles than teacher and student, a critic among them.

use lyceum_store::tokens::Scope;

use crate::{fixtures::filled, harness::TestServer, views::browser};

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
        sqlx::query(statement)
            .execute(server.store.pool())
            .await
            .expect("another cast");
    }
    let run = made.run;
    for (page, wanted) in [
        (
            "/arms-race".to_owned(),
            vec!["Ratings as challenger", "challengers", "solvers' score"],
        ),
        (
            "/population".to_owned(),
            vec![">challengers<", ">solvers<", ">critics<", ">second <small"],
        ),
        (
            "/cross-play".to_owned(),
            vec!["Solve rate of solvers against challengers"],
        ),
        ("/problems".to_owned(), vec![">Challenger</label>", "challenger-or-not"]),
        (
            format!("/members/{}", made.teacher),
            vec![
                ">Challenger</th>",
                ">Solver</th>",
                "Solver's chance",
                "class=\"side-solving\">solver<",
            ],
        ),
        (
            String::new(),
            vec!["\"group\":\"critics of second\"", "\"sides\":[\"judging\"]"],
        ),
    ] {
        let html = browser(&reader)
            .get(&format!("/runs/{run}{page}"))
            .await
            .expect(200)
            .text();
        for text in wanted.into_iter().filter(|text| *text != "challenger-or-not") {
            let escaped = text.replace('\'', "&#39;");
            assert!(
                html.contains(text) || html.contains(&escaped),
                "{page} lacks {text}: {html}"
            );
        }
        if !page.starts_with("/members") && !page.is_empty() {
            let visible = html
                .replace("teacher-0", "")
                .replace("student-0", "")
                .replace("?teacher=", "");
            let visible = visible
                .replace("&amp;student=", "")
                .replace("&student=", "")
                .replace("&#38;student=", "");
            let main = visible.split_once("id=\"view\"").expect("the page's own part").1;
            assert!(!main.contains("tudent"), "{page} speaks of students: {main}");
        }
    }
    server.stop().await;
}
