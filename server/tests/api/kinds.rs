//! Problems of mathematics and of code with tests, which have no program of their own.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::{
    fixtures::{Filled, filled},
    harness::{Actor, TestServer},
    views::browser,
};

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
    let page = browser(reader)
        .get(&format!("/runs/{run}/problems/{problem}"))
        .await
        .expect(200);
    let list = browser(reader)
        .get(&format!("/runs/{run}/problems?type={kind}"))
        .await
        .expect(200);
    [page.text(), list.text()]
}

/// The row of a part in the table of values.
fn row<'h>(html: &'h str, name: &str) -> &'h str {
    let (_, row) = html
        .split_once(&format!("<th scope=\"row\" class=\"nowrap\">{name}</th>"))
        .expect(name);
    row.split_once("</tr>").expect("an end").0
}

#[actix_web::test]
async fn a_question_is_shown_with_its_answer_and_what_of_it_is_hidden() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let question = json!({"question": "What is \u{0} six times seven?", "answer": "42"});
    let [page, list] = pages(&server, &reader, &made, ("math", question)).await;
    assert!(
        page.contains(">Question</h2>") && page.contains("six times seven?"),
        "{page}"
    );
    let answer = row(&page, "answer");
    assert!(answer.contains("42") && answer.contains("<td>hidden</td>"), "{answer}");
    assert!(
        page.contains("Prompt of the solver") && !page.contains("No program found"),
        "{page}"
    );
    assert!(list.contains("six times seven?"), "{list}");
    let code =
        json!({"question": "Add two numbers.", "canonical": "def add(a, b): return a + b", "entry_point": "add"});
    let [page, list] = pages(&server, &reader, &made, ("code", code)).await;
    assert!(
        page.contains("Add two numbers.") && list.contains("Add two numbers."),
        "{page}"
    );
    for (part, text, seen) in [
        ("entry point", "add", "shown"),
        ("solution", "return a + b", "hidden"),
        ("tests", "Only in the dataset", "hidden"),
    ] {
        let row = row(&page, part);
        assert!(
            row.contains(text) && row.contains(&format!("<td>{seen}</td>")),
            "{part}: {row}"
        );
    }
    server.stop().await;
}
