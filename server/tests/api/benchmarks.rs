//! Benchmarks: rows in, evaluations of exact weights, results and files out.

use actix_web::http::Method;
use lyceum_core::{
    benchmark::{BenchmarkRow, Graded, Question, Score},
    id::ExecutionId,
    recipe::{BenchmarkParameters, BenchmarkResultRecord, BenchmarkSampleRecord, Plan, Records},
    verify::Status,
    work::{BenchmarkSample, FinishReason},
};
use lyceum_store::{plan, token::Scope};
use serde_json::{Value, json};

use crate::{
    fixtures::filled,
    harness::{Actor, BODY_LIMIT, TestServer},
};

const ROWS: u32 = 3;

fn row(number: u32) -> BenchmarkRow {
    BenchmarkRow {
        task_id: format!("gsm8k/{number}"),
        question: format!("What is {number}?"),
        canonical: Some(number.to_string()),
        oracle: Question::Math {
            gold: number.to_string(),
        },
        tags: Default::default(),
    }
}

async fn imported(writer: &Actor) -> Value {
    let rows: Vec<BenchmarkRow> = (0..ROWS).map(row).collect();
    let body = json!({"name": "gsm8k", "purpose": "benchmark", "suite": "gsm8k", "rows": rows});
    writer.post("/api/v1/datasets", &body).await.expect(201).json()
}

/// Carries out what an evaluation's planner would: every subject has sample 0 right, and the last one also sample 1 of row 0.
async fn measured(server: &TestServer, id: ExecutionId) {
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, id).await.expect("a lock").expect("it is due");
    let parameters: BenchmarkParameters =
        serde_json::from_value(locked.state.config.parameters.clone()).expect("its parameters");
    let slice = &parameters.suites[0];
    let mut records = Records::default();
    for (at, subject) in (0..).zip(&parameters.subjects) {
        let mut score = Score::of_rows(ROWS as usize);
        for (row, sample) in (0..ROWS).flat_map(|row| [(row, 0), (row, 1)]) {
            let correct = sample == 0 || (row == 0 && at == 2);
            score.count(row as usize, correct);
            records.benchmark_samples.push(BenchmarkSampleRecord {
                suite: slice.suite.clone(),
                subject: at,
                task_id: format!("gsm8k/{row}"),
                sample: BenchmarkSample {
                    row,
                    sample,
                    text: format!("\\boxed{{{row}}}\0"),
                    finish_reason: FinishReason::Stop,
                    tokens: 3,
                    solution: Some(row.to_string()),
                    reason: None,
                },
                graded: Graded {
                    correct,
                    base_correct: None,
                    status: Status::Ok,
                    reason: String::new(),
                },
            });
        }
        records.benchmark_results.push(BenchmarkResultRecord {
            suite: slice.suite.clone(),
            subject: at,
            name: subject.name.clone(),
            role: subject.role,
            run: subject.run,
            member: subject.member,
            version: subject.adapter.map(|adapter| adapter.version),
            step: subject.step,
            base_model: subject.base_model.clone(),
            dataset: slice.dataset,
            protocol: json!({"prompts": "azr", "temperature": 0.8, "top_p": 1.0, "max_tokens": 10, "seed": "3"}),
            n: 2,
            score,
            base: None,
            completion_tokens: 18,
            seconds: 1.5,
        });
    }
    let plan = Plan {
        records,
        ..Plan::default()
    };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    // The same plan again changes nothing.
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
}

#[actix_web::test]
async fn rows_of_a_suite_are_checked_before_any_is_kept() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([row(0), {"question": "?"}, row(0)]);
    let body = json!({"name": "x", "purpose": "benchmark", "suite": "gms8k", "rows": rows});
    let reply = writer.post("/api/v1/datasets", &body).await.expect(422);
    assert_eq!(reply.places(), ["/suite", "/rows/1", "/rows/2/task_id"]);
    assert!(reply.json().to_string().contains("did you mean `gsm8k`?"), "{reply:?}");
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_are_sent_line_by_line_are_all_kept_or_none() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let address = "/api/v1/datasets/import?name=streamed&purpose=benchmark&suite=gsm8k&source=file";
    let send = |text: String| {
        let (lines, body) = (lines.clone(), Some(text.into_bytes()));
        async move { lines.send(Method::POST, address, body).await }
    };
    let line = |number: u32| serde_json::to_string(&row(number)).expect("JSON");
    let bad = send(format!("{}\n\n{{\"question\": \"?\"}}\n{}", line(0), line(0)))
        .await
        .expect(422);
    assert_eq!(bad.places(), ["/rows/1", "/rows/1"]);
    let told = bad.json().to_string();
    assert!(
        told.contains("line 3: missing field") && told.contains("line 4: `gsm8k/0` is the task of line 1"),
        "{told}"
    );
    send("\n".to_owned()).await.expect(422);
    let large = send(" ".repeat(4 * BODY_LIMIT + 1)).await.expect(413);
    assert!(
        large.json().to_string().contains(&(4 * BODY_LIMIT).to_string()),
        "{large:?}"
    );
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]), "nothing was kept of any");

    let made = send(format!("{}\n{}\n{}", line(0), line(1), line(2)))
        .await
        .expect(201)
        .json();
    let whole = imported(&writer).await;
    assert_eq!(
        (&made["rows"], &made["sha256"]),
        (&json!(3), &whole["sha256"]),
        "as one document"
    );
    send(line(0)).await.expect(409);
    writer
        .send(Method::POST, address, Some(line(0).into_bytes()))
        .await
        .expect(415);
    server.stop().await;
}

#[actix_web::test]
async fn an_evaluation_names_exact_weights_and_rows_or_says_what_is_missing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    let asked = |spec: Value| json!({ "spec": spec });
    let refused = |spec: Value| {
        let (writer, body) = (&writer, asked(spec));
        async move { writer.post("/api/v1/evaluations", &body).await.expect(422) }
    };
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k", "nothing"], "run": made.run})).await;
    assert_eq!(reply.places(), ["/spec/suites/0", "/spec/suites/1"]);
    assert!(
        reply.json().to_string().contains("lyceum benchmark import gsm8k FILE"),
        "{reply:?}"
    );
    imported(&writer).await;
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k"]})).await;
    assert_eq!(reply.places(), ["/spec"]);
    let nobody = uuid::Uuid::nil();
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k"], "versions": [nobody]})).await;
    assert_eq!(reply.places(), ["/spec/versions"]);
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k"], "run": nobody})).await;
    assert_eq!(reply.places(), ["/spec/run"]);
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 4})).await;
    assert_eq!(reply.places(), ["/parameters/suites/0"]);
    let reply = refused(json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "prompts": "rhyme"})).await;
    assert_eq!(reply.places(), ["/parameters/suites/0"]);
    server.stop().await;
}

#[actix_web::test]
async fn results_come_as_tables_curves_samples_and_other_tools_files() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer
        .post("/api/v1/evaluations", &json!({"spec": spec, "seed": 3}))
        .await;
    let evaluation = evaluation.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    measured(&server, id).await;

    let results = writer
        .get(&format!("/api/v1/evaluations/{id}/results?order=oldest"))
        .await;
    let results = results.expect(200).json();
    let names: Vec<&str> = results["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["seedling", "teacher-0", "student-0"],
        "the base once, then the members"
    );
    assert_eq!(results["items"][0]["pass_at_1"], 0.5);
    assert_eq!(results["items"][0]["curve"][1]["k"], 2);
    assert_eq!(results["items"][0]["curve"][1]["pass_at_k"], 1.0);
    assert_eq!(results["items"][2]["step"], 1);
    let repeats = &results["items"][0]["repeats"];
    assert_eq!(
        (&repeats["count"], &repeats["mean"], &repeats["standard_error"]),
        (&json!(2), &json!(0.5), &json!(0.5))
    );

    let of_run = format!("/api/v1/runs/{}/benchmarks", made.run);
    let listed = writer
        .get(&format!("{of_run}?suite=gsm8k&limit=2"))
        .await
        .expect(200)
        .json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    assert!(listed["next"].is_string());

    let table = writer.get(&format!("{of_run}/table")).await.expect(200).json();
    assert_eq!(
        (&table["suites"], &table["best_student"]),
        (&json!(["gsm8k"]), &json!("student-0"))
    );
    assert_eq!(table["rows"][0]["subject"]["role"], "base");
    let csv = writer.get(&format!("{of_run}/table?format=csv")).await.expect(200);
    assert!(csv.header("content-type").starts_with("text/csv"));
    assert!(csv.text().contains("teacher-0,teacher,gsm8k,0.5,"), "{}", csv.text());
    let markdown = writer
        .get(&format!("{of_run}/table?format=markdown&baseline={}", made.run))
        .await
        .expect(200);
    assert!(
        markdown.text().contains("| filled: student-0 | baseline |"),
        "{}",
        markdown.text()
    );

    let solved = writer
        .get(&format!("{of_run}/solved?suite=GSM8K"))
        .await
        .expect(200)
        .json();
    assert_eq!(solved["first_solved"], json!([1, 1, 1]));
    assert_eq!(solved["steps"][0]["correct"], json!([3, 2, 2]));
    let reply = writer.get(&format!("{of_run}/solved?suite=nothing")).await.expect(400);
    assert_eq!(reply.places(), ["suite"]);

    let samples = writer
        .get(&format!("/api/v1/evaluations/{id}/samples?correct=false&subject=2"))
        .await;
    let samples = samples.expect(200).json();
    assert_eq!(samples["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        samples["items"][0]["text"], "\\boxed{2}␀",
        "NUL, which Postgres cannot hold"
    );

    let export = |query: &str| {
        let (writer, address) = (&writer, format!("/api/v1/evaluations/{id}/export{query}"));
        async move { writer.get(&address).await }
    };
    let evalplus = export("").await.expect(200).text();
    assert_eq!(evalplus.lines().count(), 2 * ROWS as usize);
    assert_eq!(
        serde_json::from_str::<Value>(evalplus.lines().next().expect("a line")).expect("JSON"),
        json!({"task_id": "gsm8k/0", "solution": "0"})
    );
    let lm_eval = export("?format=lm_eval_results&subject=2").await.expect(200).json();
    assert_eq!(lm_eval["n-samples"]["gsm8k"], json!({"original": 3, "effective": 3}));
    let share = lm_eval["results"]["gsm8k"]["pass@1,none"].as_f64().expect("a share");
    assert!((share - 2.0 / 3.0).abs() < 1e-12, "{share}");
    let logged = export("?format=lm_eval_samples&suite=gsm8k").await.expect(200).text();
    let first: Value = serde_json::from_str(logged.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["doc_id"], &first["pass@1"], &first["target"]),
        (&json!(0), &json!(0.5), &json!("0"))
    );
    assert_eq!(first["resps"][0].as_array().map(Vec::len), Some(2));
    export("?subject=9").await.expect(404);

    let leaders = writer
        .get("/api/v1/benchmarks/gsm8k/leaderboard?limit=1")
        .await
        .expect(200)
        .json();
    assert_eq!(leaders["items"][0]["name"], "student-0");
    let suites = writer.get("/api/v1/benchmarks").await.expect(200).json();
    let gsm8k = suites["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|suite| suite["name"] == "gsm8k")
        .expect("gsm8k");
    assert_eq!(
        (&gsm8k["dataset"]["rows"], &gsm8k["group"]),
        (&json!(3), &json!("math"))
    );
    server.stop().await;
}

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
    let offered = browser.get(&of_run).await.expect(200).text();
    assert!(offered.contains("data-action=\"/api/v1/evaluations\""), "{offered}");
    let reader = server.actor(Scope::Read).await.with("accept", "text/html");
    let read = reader.get(&of_run).await.expect(200).text();
    assert!(!read.contains("data-action="), "who may not plan is offered nothing");

    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await;
    let evaluation = evaluation.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let line = writer.get("/evaluations.json?type=benchmark").await.expect(200).json();
    assert_eq!(
        line["items"][0]["subjects"],
        json!(["seedling", "teacher-0", "student-0"])
    );
    assert_eq!(
        writer.get("/evaluations.json?type=cross_play").await.expect(200).json()["items"],
        json!([])
    );
    let linked = browser.get(&format!("/runs/{id}")).await.expect(303);
    assert_eq!(linked.header("location"), format!("/evaluations/{id}"));
    let running = browser.get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert!(
        running.contains("/cancel\"") && running.contains("There are no samples yet"),
        "{running}"
    );
    measured(&server, id).await;

    let page = writer
        .get(&format!("/runs/{}/benchmarks.json", made.run))
        .await
        .expect(200)
        .json();
    assert_eq!((&page["step"], &page["steps"]), (&json!(1), &json!([1])));
    assert_eq!(page["pass_at_k"][0]["points"][1]["pass_at_k"], 1.0);
    assert_eq!(page["table"]["best_student"], "student-0");
    let html = browser
        .get(&format!("{of_run}?baseline={}", made.run))
        .await
        .expect(200)
        .text();
    for shown in [
        "<h2 id=\"table\">pass@1 in per cent, when 1 step was done",
        "filled: student-0",
        "population best*",
        "66.7",
        "GSM8K: pass@k",
        "table?format=markdown&#38;baseline=",
        &format!("/evaluations/{id}?suite=gsm8k&#38;subject=2#samples"),
    ] {
        assert!(html.contains(shown), "{shown} is not in {html}");
    }
    let beside = "was not measured alike";
    assert!(!html.contains(beside));
    sqlx::query("UPDATE benchmark_results SET protocol = protocol || '{\"temperature\": 0.5}' WHERE role = 'base'")
        .execute(server.store.pool())
        .await
        .expect("another protocol");
    let html = browser.get(&of_run).await.expect(200).text();
    assert!(
        html.contains("GSM8K was not measured alike for all: temperature differ"),
        "{html}"
    );

    let of = format!("/evaluations/{id}");
    let html = browser.get(&of).await.expect(200).text();
    for shown in [
        "3 of 3",
        "What is 2?",
        "\\boxed{2}␀",
        "passed",
        "failed (ok)",
        "lm_eval_samples",
    ] {
        assert!(html.contains(shown), "{shown} is not in {html}");
    }
    let shown = |query: &str| {
        let (writer, address) = (writer.clone(), format!("{of}.json?{query}"));
        async move {
            writer.get(&address).await.expect(200).json()["items"]
                .as_array()
                .map_or(0, Vec::len)
        }
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
async fn members_that_sat_a_step_out_are_in_the_table_with_the_others() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    sqlx::query("UPDATE adapter_versions SET step = 4 WHERE member_id = $1")
        .bind(made.teacher.0)
        .execute(server.store.pool())
        .await
        .expect("newer weights of one member");
    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await;
    let evaluation = evaluation.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    measured(&server, id).await;
    let table = writer.get(&format!("/api/v1/runs/{}/benchmarks/table", made.run)).await;
    assert_eq!(table.expect(200).json()["rows"].as_array().map(Vec::len), Some(3));
    server.stop().await;
}
