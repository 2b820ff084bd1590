//! Problems of mathematics and of code with tests, which have no program of their own.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::{Filled, filled};
use crate::harness::{Actor, TestServer};
use crate::outline::{assert_reads_like, outline};
use crate::views::browser;

/// The page of the first problem, and the list, once the problem is of this type with these values.
async fn pages(server: &TestServer, reader: &Actor, made: &Filled, (kind, values): (&str, Value)) -> [String; 2] {
    sqlx::query(
        "UPDATE problems SET type = $1, \"values\" = $2::text::json, program = NULL, proposer_id = NULL, prompt = 'Solve it.'
         WHERE id = $3",
    )
    .bind(kind)
    .bind(values.to_string())
    .bind(made.problems[0].0)
    .execute(server.store.pool())
    .await
    .expect("another kind");
    let (run, problem) = (made.run, made.problems[0]);
    let page = browser(reader).get(&format!("/runs/{run}/problems/{problem}")).await.expect(200);
    let list = browser(reader).get(&format!("/runs/{run}/problems?type={kind}")).await.expect(200);
    [page.text(), list.text()]
}

#[actix_web::test]
async fn a_question_is_shown_with_its_answer_and_what_of_it_is_hidden() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let question = json!({"question": "What is \u{0} six times seven?", "answer": "42"});
    let [page, list] = pages(&server, &reader, &made, ("math", question)).await;
    assert_reads_like("problem.of-mathematics", &page);
    assert!(outline(&list).contains("What is ␀ six times seven?"), "{list}");
    let code =
        json!({"question": "Add two numbers.", "canonical": "def add(a, b): return a + b", "entry_point": "add"});
    let [page, list] = pages(&server, &reader, &made, ("code", code)).await;
    assert_reads_like("problem.of-code-with-tests", &page);
    assert!(outline(&list).contains("Add two numbers."), "{list}");
    server.stop().await;
}
