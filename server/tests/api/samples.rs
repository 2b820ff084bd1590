//! What a run's checkpoints answered: what has changed since the base, and the texts.

use lyceum_core::id::ExecutionId;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::benchmarks::{imported, measured};
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::outline::assert_reads_like;

/// A run that was measured on three problems: the first was solved since the base, the others both times.
async fn measured_run(server: &TestServer, writer: &Actor) -> ExecutionId {
    let run = filled(server, 6).await.run;
    imported(writer).await;
    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": run, "n": 2, "temperature": 0.8});
    let made = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await;
    let id = made.expect(201).json()["id"].as_str().and_then(|id| id.parse().ok());
    measured(server, id.expect("an id")).await;
    for statement in [
        "UPDATE benchmark_results SET correct = '{0,1,1}', pass_at_1 = 1.0 / 3 WHERE role = 'base'",
        "UPDATE benchmark_samples SET correct = false WHERE subject = 0 AND row = 0",
        // Tags are strings; the last row has another level.
        "UPDATE dataset_rows SET row = jsonb_set(row::jsonb, '{tags}', jsonb_build_object('level', CASE index WHEN 2 THEN '2' ELSE '1' END))",
    ] {
        sqlx::query(statement).execute(server.store.pool()).await.expect("another state");
    }
    server.renew_results().await;
    run
}

#[actix_web::test]
async fn a_run_s_page_says_what_has_changed_since_the_base_in_numbers_and_in_texts() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = measured_run(&server, &writer).await;
    let page = writer.get(&format!("/runs/{run}.json")).await.expect(200).json();
    let changes = &page["changes"];
    let groups = changes["groups"].as_array().expect("groups");
    let found: Vec<[&Value; 4]> =
        groups.iter().map(|group| [&group["level"], &group["n"], &group["reference"], &group["value"]]).collect();
    assert_eq!(found.len(), 3, "{changes}");
    assert_eq!(found[0][..2], [&json!(null), &json!(3)]);
    assert_eq!(found[1], [&json!("1"), &json!(2), &json!(0.25), &json!(0.75)]);
    assert_eq!(found[2], [&json!("2"), &json!(1), &json!(0.5), &json!(0.5)]);
    let texts = changes["texts"].as_array().expect("texts");
    assert_eq!(texts.len(), 1, "nothing failed or broke: {changes}");
    let text = &texts[0];
    assert_eq!((&text["change"], &text["count"]), (&json!("solved"), &json!(1)));
    assert_eq!(text["row"]["row"], 0);
    assert_eq!(text["question"], "What is 0?");
    assert_eq!((&text["before"]["correct"], &text["after"]["correct"]), (&json!(false), &json!(true)));
    let browser = writer.clone().with("accept", "text/html");
    let html = browser.get(&format!("/runs/{run}")).await.expect(200).text();
    assert_reads_like("run.with-changes", &html);
    let several = browser.get(&format!("/runs/{run}?curve=pass_at_k")).await;
    several.expect(200);
    let refused = writer.get(&format!("/runs/{run}?curve=best")).await.expect(400);
    assert!(refused.text().contains("pass_at_1 and pass_at_k are valid"), "{refused:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_suite_s_problems_are_chosen_by_what_became_of_them_and_shown_across_checkpoints() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = measured_run(&server, &writer).await;
    let shown = async |query: &str| {
        let address = format!("/runs/{run}/samples.json?suite=gsm8k&{query}");
        writer.get(&address).await.expect(200).json()
    };
    let listed = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["open"].as_str().expect("a row").to_owned()).collect()
    };
    assert_eq!(listed(&shown("").await), ["0", "1", "2"]);
    assert_eq!(listed(&shown("change=solved").await), ["0"]);
    assert_eq!(listed(&shown("change=broken").await), [""; 0]);
    assert_eq!(listed(&shown("change=kept&level=2").await), ["2"]);
    assert_eq!(listed(&shown("cursor=0").await), ["1", "2"]);
    let open = &shown("change=solved").await["open"];
    assert_eq!(open["prompt"][0]["text"], "What is 0?");
    let checkpoints = json!([{"step": null, "correct": 0, "count": 2}, {"step": 1, "correct": 2, "count": 2}]);
    assert_eq!(open["checkpoints"], checkpoints);
    let counts: Vec<_> = open["answers"]
        .as_array()
        .expect("answers")
        .iter()
        .map(|answer| (&answer["count"], &answer["correct"]))
        .collect();
    assert_eq!(counts, [(&json!(2), &json!(false)), (&json!(2), &json!(true))]);
    let browser = writer.clone().with("accept", "text/html");
    let address = format!("/runs/{run}/samples?suite=gsm8k&open=0");
    assert_reads_like("samples.of-a-suite", &browser.get(&address).await.expect(200).text());

    for (query, says) in [
        ("suite=humaneval", "gsm8k are valid"),
        ("suite=gsm8k&open=3", "a number from 0 to 2 is valid"),
        ("suite=gsm8k&cursor=x", "a number from 0 to 2 is valid"),
        ("open=x", "no id of a problem"),
    ] {
        let refused = writer.get(&format!("/runs/{run}/samples?{query}")).await.expect(400);
        assert!(refused.text().contains(says), "{query}: {refused:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn equal_answers_to_a_problem_of_the_run_are_one_with_their_count() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 6).await;
    for statement in [
        "UPDATE executions SET recipe = 'azr'",
        "UPDATE attempts SET correct = true",
        "UPDATE problems SET solve_rate = NULL WHERE NOT valid",
    ] {
        sqlx::query(statement).execute(server.store.pool()).await.expect("another state");
    }
    let address = |query: &str| format!("/runs/{}/samples.json?{query}", made.run);
    let page = writer.get(&address("")).await.expect(200).json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(3), "those that nobody attempted are left out");
    assert_eq!(page["open"]["answers"][0]["count"], 2);
    assert_eq!(page["open"]["answers"][0]["by"], json!(["student-0"]));
    let all = writer.get(&address("solved=any")).await.expect(200).json();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(6));
    let opened = writer.get(&address(&format!("open={}", made.problems[1]))).await.expect(200).json();
    assert_eq!(opened["open"]["title"], "Problem 1 of step 0");
    let nothing = writer.get(&address("step=7")).await.expect(200).json();
    assert_eq!((&nothing["items"], &nothing["open"]), (&json!([]), &json!(null)));
    server.stop().await;
}
