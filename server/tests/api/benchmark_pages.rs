//! Pages of benchmarks and evaluations.

use lyceum_core::id::ExecutionId;
use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::benchmarks::{imported, measured};
use crate::fixtures::filled;
use crate::harness::TestServer;
use crate::outline::{assert_reads_like, attributes};

#[actix_web::test]
async fn pages_have_the_table_the_curves_and_every_sample() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    let browser = writer.clone().with("accept", "text/html");
    let of_run = format!("/runs/{}/benchmarks", made.run);
    let empty = browser.get(&of_run).await.expect(200).text();
    assert!(
        empty.contains("lyceum benchmark import") && empty.contains("[benchmarks]"),
        "an empty page says how it is filled: {empty}"
    );
    imported(&writer).await;
    let form = format!("/evaluations/new?type=benchmark&run={}", made.run);
    let reader = server.actor(Scope::Read).await.with("accept", "text/html");
    for (actor, is_offered) in [(&browser, true), (&reader, false)] {
        let links = attributes(&actor.get(&of_run).await.expect(200).text(), "href");
        assert_eq!(links.contains(&form), is_offered, "who may not plan is offered nothing: {links:?}");
    }

    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let line = writer.get("/evaluations.json?type=benchmark").await.expect(200).json();
    assert_eq!(line["items"][0]["subjects"], json!(["seedling", "teacher-0", "student-0"]));
    assert_eq!(writer.get("/evaluations.json?type=cross_play").await.expect(200).json()["items"], json!([]));
    let linked = browser.get(&format!("/runs/{id}")).await.expect(303);
    assert_eq!(linked.header("location"), format!("/evaluations/{id}"));
    let running = browser.get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert_eq!(attributes(&running, "data-action"), [format!("/api/v1/evaluations/{id}/cancel")]);
    assert_eq!(attributes(&running, "data-follow"), [format!("evaluations/{id}")]);
    let running = writer.get(&format!("/evaluations/{id}.json")).await.expect(200).json();
    assert_eq!(running["items"], json!([]));
    measured(&server, id).await;
    let events = format!("/api/v1/evaluations/{id}/events");
    let json = writer.clone().with("accept", "application/json");
    let events = json.get(&events).await.expect(200).json();
    let told: Vec<_> = events["items"].as_array().expect("events").iter().map(|event| &event["kind"]).collect();
    assert_eq!(told.iter().filter(|kind| **kind == "measured").count(), 1, "{events}");

    let page = writer.get(&format!("/runs/{}/benchmarks.json", made.run)).await.expect(200).json();
    assert_eq!((&page["step"], &page["steps"]), (&json!(1), &json!([1])));
    assert_eq!(page["pass_at_k"][0]["points"][1]["pass_at_k"], 1.0);
    assert_eq!(page["table"]["best_student"], "student-0");
    assert_eq!(page["levels"], json!([]), "no row has a level");
    let tags = "UPDATE dataset_rows SET row = jsonb_set(row::jsonb, '{tags}', jsonb_build_object('level', (index > 0)::integer + 1))::json";
    sqlx::query(tags).execute(server.store.pool()).await.expect("levels");
    let page = writer.get(&format!("{of_run}.json")).await.expect(200).json();
    let levels: Vec<_> = page["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .map(|at| (at["level"].clone(), at["step"].clone(), at["pass_at_1"].clone(), at["rows"].clone()))
        .collect();
    let at = |level: &str, step: i32, share: f64, rows: u32| (json!(level), json!(step), json!(share), json!(rows));
    let expected = [at("1", 0, 0.5, 1), at("1", 1, 1.0, 1), at("2", 0, 0.5, 2), at("2", 1, 0.5, 2)];
    assert_eq!(levels, expected, "the base at step 0, and the student");
    let chart = attributes(&browser.get(&of_run).await.expect(200).text(), "id");
    assert!(chart.iter().any(|id| id.contains("by-level-gsm8k")), "{chart:?}");
    let html = browser.get(&format!("{of_run}?baseline={}", made.run)).await.expect(200).text();
    assert_reads_like("benchmarks.beside-a-baseline", &html);
    let links = attributes(&html, "href");
    let samples = format!("/evaluations/{id}?suite=gsm8k&subject=2#samples");
    assert!(links.contains(&samples), "{links:?}");
    let notes = async || {
        let page = writer.get(&format!("{of_run}.json")).await.expect(200).json();
        page["table"]["notes"].to_string()
    };
    assert!(!notes().await.contains("temperature"), "all were measured alike");
    sqlx::query("UPDATE benchmark_results SET protocol = protocol || '{\"temperature\": 0.5}', decoding = 'another way' WHERE role = 'base'")
        .execute(server.store.pool())
        .await
        .expect("another protocol");
    server.renew_results().await;
    let told = notes().await;
    assert!(told.contains("GSM8K") && told.contains("temperature"), "{told}");

    let of = format!("/evaluations/{id}");
    assert_reads_like("evaluation.benchmark", &browser.get(&of).await.expect(200).text());
    let shown = |query: &str| {
        let (writer, address) = (writer.clone(), format!("{of}.json?{query}"));
        async move { writer.get(&address).await.expect(200).json()["items"].as_array().map_or(0, Vec::len) }
    };
    assert_eq!(shown("").await, 18);
    assert_eq!(shown("correct=false&subject=2").await, 2);
    assert_eq!(shown("task=gsm8k%2F1&suite=gsm8k").await, 6);
    assert_eq!(shown("suite=humaneval").await, 0);

    sqlx::query("UPDATE benchmark_samples SET text = $1, solution = $1, reason = $1, task_id = $1")
        .bind("</pre><script>alert(1)</script>\u{1b}[2J\u{202e}")
        .execute(server.store.pool())
        .await
        .expect("hostile samples");
    sqlx::query("UPDATE benchmark_results SET name = '<img src=x>'")
        .execute(server.store.pool())
        .await
        .expect("hostile names");
    for address in [&of, &of_run] {
        let html = browser.get(address).await.expect(200).text();
        for forbidden in ["<script>alert", "<img", "\u{1b}", "\u{202e}", " style="] {
            assert!(!html.contains(forbidden), "{address} lets {forbidden:?} through");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn suites_in_and_out_of_distribution_have_a_table_of_their_own() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let browser = writer.clone().with("accept", "text/html");
    let suites = json!([
        {"suite": "gsm8k", "distribution": "in"},
        {"suite": "gsm8k", "name": "harder", "distribution": "out"},
    ]);
    let spec = json!({"type": "benchmark", "suites": suites, "run": made.run, "n": 2, "temperature": 0.8});
    let body = json!({ "spec": spec });
    let evaluation = writer.post("/api/v1/evaluations", &body).await.expect(201).json();
    assert_eq!(evaluation["spec"]["suites"], suites);
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let page = format!("/evaluations/{id}");
    let json = writer.get(&format!("{page}.json")).await.expect(200).json();
    assert_eq!(json["results"], json!([]));
    measured(&server, id).await;
    let json = writer.get(&format!("{page}.json")).await.expect(200).json();
    let table = &json["generalization"];
    assert_eq!((&table["in_distribution"], &table["out_of_distribution"]), (&json!(["gsm8k"]), &json!(["harder"])));
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "the base and two members");
    assert_eq!((&rows[0]["in_average"], &rows[0]["out_average"]), (&json!(0.5), &json!(null)));
    let html = browser.get(&page).await.expect(200).text();
    assert_reads_like("evaluation.benchmark-in-and-out-of-distribution", &html);
    let mut wrong = body.clone();
    wrong["spec"]["suites"][0]["distribution"] = json!("near");
    let refused = writer.post("/api/v1/evaluations", &wrong).await.expect(422);
    assert!(refused.places().iter().any(|place| place.starts_with("/spec/suites")), "{refused:?}");
    server.stop().await;
}

#[actix_web::test]
async fn compared_runs_have_paired_differences_from_the_baseline() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let made = filled(&server, 1).await;
        let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
        let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await;
        let id = evaluation.expect(201).json()["id"].as_str().and_then(|id| id.parse().ok());
        measured(&server, ExecutionId(id.expect("an id"))).await;
        runs.push(made.run);
    }
    let [base, other] = runs[..] else { panic!("two runs") };
    // The second run has all of its answers right.
    sqlx::query("UPDATE benchmark_results SET correct = samples WHERE run_id = $1 AND role = 'student'")
        .bind(other.0)
        .execute(server.store.pool())
        .await
        .expect("right answers");
    server.renew_results().await;
    let address = format!("/compare?runs={base},{other}");
    let page = |query: &str| {
        let (writer, address) = (writer.clone(), format!("{}{query}", address.replace("/compare", "/compare.json")));
        async move { writer.get(&address).await.expect(200).json() }
    };
    let alone = page("").await;
    let scores = &alone["scores"][0];
    assert_eq!((&scores["suite"], &scores["values"][1]["pass_at_1"]), (&json!("gsm8k"), &json!(1.0)));
    assert_eq!(scores["values"][1]["members"], 1, "proposers are left out");
    assert!(scores["values"][1].get("difference").is_none(), "{scores}");

    let against = page(&format!("&baseline={base}")).await;
    let value = &against["scores"][0]["values"][1];
    let low = value["difference"]["difference"]["low"].as_f64().expect("an interval");
    let gain = 1.0 - against["scores"][0]["values"][0]["pass_at_1"].as_f64().expect("a score");
    assert!(low < gain && gain > 0.3, "{against}");
    let browser = writer.clone().with("accept", "text/html");
    let html = browser.get(&format!("{address}&baseline={base}")).await.expect(200).text();
    assert_reads_like("compare.beside-a-baseline", &html);

    sqlx::query(
        "UPDATE benchmark_results SET protocol = protocol || '{\"temperature\": 0.5}', decoding = 'another way' WHERE run_id = $1",
    )
    .bind(other.0)
    .execute(server.store.pool())
    .await
    .expect("another protocol");
    server.renew_results().await;
    let against = page(&format!("&baseline={base}")).await;
    let value = &against["scores"][0]["values"][1];
    assert!(value.get("difference").is_none() && value["is_incomparable"] == true, "{value}");
    server.stop().await;
}

#[actix_web::test]
async fn a_second_measurement_of_a_member_replaces_the_first_in_the_table_of_runs() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let made = filled(&server, 1).await;
    for correct in [[0, 0, 0], [2, 2, 0]] {
        let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
        let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await.expect(201).json();
        let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        measured(&server, id).await;
        sqlx::query("UPDATE benchmark_results SET correct = $2 WHERE evaluation_id = $1")
            .bind(id.0)
            .bind(correct)
            .execute(server.store.pool())
            .await
            .expect("a score");
        server.renew_results().await;
    }
    let page = writer.get("/runs.json?columns=benchmarks.gsm8k").await.expect(200).json();
    assert_eq!(page["items"][0]["values"]["benchmarks.gsm8k"], json!(2.0 / 3.0), "{page}");
    let sorted = writer.get("/runs.json?sort=benchmarks.gsm8k&where=benchmarks.gsm8k%3E0.6").await.expect(200).json();
    assert_eq!(sorted["items"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[actix_web::test]
async fn of_two_measurements_of_a_checkpoint_the_larger_counts() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let run = filled(&server, 1).await.run;
    // The newer one is on the first of the three rows alone.
    for (rows, correct, pass_at_1) in [(3, &[2, 1, 0][..], 0.5), (1, &[2], 1.0)] {
        let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": run, "n": 2, "temperature": 0.8});
        let made = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await.expect(201).json();
        let id: ExecutionId = made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        measured(&server, id).await;
        sqlx::query(
            "UPDATE benchmark_results SET pass_at_1 = $2, rows = $3, samples = samples[1:$3], correct = $4, row_set = ''
             WHERE evaluation_id = $1",
        )
        .bind(id.0)
        .bind(pass_at_1)
        .bind(rows)
        .bind(correct)
        .execute(server.store.pool())
        .await
        .expect("a score");
        server.renew_results().await;
    }
    let runs = writer.get("/runs.json?columns=benchmarks.gsm8k").await.expect(200).json();
    assert_eq!(runs["items"][0]["values"]["benchmarks.gsm8k"], json!(0.5));
    let page = writer.get(&format!("/runs/{run}/benchmarks.json")).await.expect(200).json();
    for row in page["table"]["rows"].as_array().expect("rows") {
        assert_eq!(row["scores"]["gsm8k"]["pass_at_1"], json!(0.5), "{row}");
    }
    let verdict = writer.get(&format!("/runs/{run}.json")).await.expect(200).json();
    assert_eq!(verdict["verdict"]["findings"][0]["n"], json!(3));
    server.stop().await;
}

#[actix_web::test]
async fn a_measurement_that_is_offered_has_the_imported_suites_and_the_roles_of_the_config() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    imported(&writer).await;
    let run = filled(&server, 1).await.run;
    sqlx::query(
        "UPDATE executions SET config = jsonb_set(config, '{benchmarks}', '{\"roles\": [\"student\"]}') WHERE id = $1",
    )
    .bind(run.0)
    .execute(server.store.pool())
    .await
    .expect("a config");
    let form = format!("/evaluations/new.json?type=benchmark&run={run}");
    let offered = writer.get(&form).await.expect(200).json();
    let spec = json!({"type": "benchmark", "run": run, "suites": ["gsm8k"], "roles": ["student"]});
    assert_eq!(offered["spec"], spec);
    assert_ne!(offered["cost"], json!(null));
    server.stop().await;
}
