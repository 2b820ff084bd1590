//! Benchmarks: evaluations of exact weights, results and files out.

use lyceum_core::benchmark::{BenchmarkRow, Graded, Question, Score};
use lyceum_core::id::ExecutionId;
use lyceum_core::prompt::ReadingRule;
use lyceum_core::recipe::{BenchmarkParameters, BenchmarkResultRecord, BenchmarkSampleRecord, Plan, Records};
use lyceum_core::verify::Status;
use lyceum_core::work::{BenchmarkSample, FinishReason};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::commands::{refuses, says};
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};

const ROWS: u32 = 3;

pub(crate) fn row(number: u32) -> BenchmarkRow {
    BenchmarkRow {
        task_id: format!("gsm8k/{number}"),
        question: format!("What is {number}?"),
        canonical: Some(number.to_string()),
        oracle: Question::Math { gold: number.to_string() },
        tags: Default::default(),
    }
}

pub(crate) async fn imported(writer: &Actor) -> Value {
    let rows: Vec<BenchmarkRow> = (0..ROWS).map(row).collect();
    let body = json!({"name": "gsm8k", "purpose": "benchmark", "suite": "gsm8k", "rows": rows});
    writer.post("/api/v1/datasets", &body).await.expect(201).json()
}

/// Carries out what an evaluation's planner would: every subject has sample 0 right, and the last one also sample 1 of row 0.
pub(crate) async fn measured(server: &TestServer, id: ExecutionId) {
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
                    finish_reason: match row {
                        0 => FinishReason::Length,
                        _ => FinishReason::Stop,
                    },
                    tokens: 3,
                    solution: ((row, sample) != (1, 1)).then(|| row.to_string()),
                    reading: match (row, sample) {
                        (0, 0) => Some(ReadingRule::Line),
                        (1, 1) => None,
                        _ => Some(ReadingRule::Form),
                    },
                    reason: None,
                },
                graded: Graded { correct, base_correct: None, status: Status::Ok, reason: String::new() },
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
            entropy: Some(0.75),
            seconds: 1.5,
        });
    }
    let plan = Plan { records, ..Plan::default() };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    // The same plan again changes nothing.
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
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
    assert!(reply.json().to_string().contains("lyceum benchmark import gsm8k FILE"), "{reply:?}");
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
async fn a_base_that_was_slow_gets_items_of_few_answers() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let begin = || async {
        let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
        let begun = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await;
        let id = begun.expect(201).json()["id"].as_str().and_then(|id| id.parse().ok());
        let id: ExecutionId = id.expect("an id");
        let answers: i32 = sqlx::query_scalar(
            "SELECT (config #>> '{parameters,samples_per_item}')::integer FROM executions WHERE id = $1",
        )
        .bind(id.0)
        .fetch_one(server.store.pool())
        .await
        .expect("a config");
        (id, answers)
    };
    let (first, answers) = begin().await;
    assert_eq!(answers, 64, "a base that is not here and was never measured");
    measured(&server, first).await;
    sqlx::query("UPDATE benchmark_results SET seconds = 12").execute(server.store.pool()).await.expect("an update");
    assert_eq!(begin().await.1, 10, "an answer took two seconds, and an item is to take twenty");
    sqlx::query("UPDATE benchmark_results SET suite = 'math500', seconds = 0.018")
        .execute(server.store.pool())
        .await
        .expect("an update");
    assert_eq!(begin().await.1, 9, "a token of another suite took a millisecond, and an answer has two thousand");
    sqlx::query(
        "INSERT INTO workers (id, name, host, device, kinds, base_models, memory_bytes, versions, samplers, trainers, state)
         SELECT gen_random_uuid(), 'gpu', 'there', 'cuda', '{benchmark}', '{}', 1, '{}', '{engine}', '{engine}', 'idle'",
    )
    .execute(server.store.pool())
    .await
    .expect("a worker");
    assert_eq!(begin().await.1, 64, "a GPU takes as long for few answers as for many");
    server.stop().await;
}

#[actix_web::test]
async fn runs_and_subjects_are_compared_on_the_command_line() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 3})).await.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let (run, base) = (made.run.to_string(), format!("base={id}/seedling"));
    assert!(refuses(&server, &["compare", &run, &run]).await.contains("it has no results"));
    measured(&server, id).await;
    let found: Value =
        serde_json::from_str(&says(&server, &["compare", &base, &run, "--format", "json"]).await).expect("JSON");
    // Of the base one answer in two is right, of the only member that solves both answers to the first row.
    assert_eq!((&found[0]["name"], &found[0]["mean"]), (&json!("base"), &json!(0.5)));
    let difference = found[1]["effect"]["difference"].as_f64().expect("a difference");
    assert!((difference - 1.0 / 6.0).abs() < 1e-9 && found[1]["effect"]["problems"] == 3, "{found}");
    let table = says(&server, &["compare", &base, &run, "--format", "markdown"]).await;
    assert!(table.contains(&format!("| {run} |  | 3 | 66.7 | +16.7 (")), "{table}");
    let several = refuses(&server, &["compare", &id.to_string(), &run]).await;
    assert!(several.contains("one of seedling, student-0, teacher-0"), "{several}");
    assert!(refuses(&server, &["compare", &base, &format!("{run}/nobody")]).await.contains("student-0"));
    server.stop().await;
}

#[actix_web::test]
async fn results_come_as_tables_curves_samples_and_other_tools_files() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    imported(&writer).await;
    let spec = json!({"type": "benchmark", "suites": ["gsm8k"], "run": made.run, "n": 2, "temperature": 0.8});
    let evaluation = writer.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 3})).await.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    measured(&server, id).await;

    let results = writer.get(&format!("/api/v1/evaluations/{id}/results?order=oldest")).await.expect(200).json();
    let names: Vec<&str> =
        results["items"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["seedling", "teacher-0", "student-0"], "the base once, then the members");
    assert_eq!(results["items"][0]["pass_at_1"], 0.5);
    assert_eq!(results["items"][0]["truncated"], 2, "both answers to the first row");
    assert_eq!(results["items"][0]["without_solution"], 1, "one to the second");
    assert_eq!(results["items"][0]["other_rules"], 1, "one by a line");
    let page = writer.get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert!(page.contains("(up to 33.3 % at "), "both answers to one row of three");
    assert!(page.contains("By another rule") && page.contains("Solution found by a line “Answer:”"), "{page}");
    assert_eq!(results["items"][0]["curve"][1]["k"], 2);
    assert_eq!(results["items"][0]["curve"][1]["pass_at_k"], 1.0);
    assert_eq!(results["items"][2]["step"], 1);
    let repeats = &results["items"][0]["repeats"];
    assert_eq!(
        (&repeats["count"], &repeats["mean"], &repeats["standard_error"]),
        (&json!(2), &json!(0.5), &json!(0.5))
    );

    let of_run = format!("/api/v1/runs/{}/benchmarks", made.run);
    let listed = writer.get(&format!("{of_run}?suite=gsm8k&limit=2")).await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    assert!(listed["next"].is_string());

    let table = writer.get(&format!("{of_run}/table")).await.expect(200).json();
    assert_eq!((&table["suites"], &table["best_student"]), (&json!(["gsm8k"]), &json!("student-0")));
    assert_eq!(table["rows"][0]["subject"]["role"], "base");
    let csv = writer.get(&format!("{of_run}/table?format=csv")).await.expect(200);
    assert!(csv.header("content-type").starts_with("text/csv"));
    assert!(csv.text().contains("teacher-0,teacher,gsm8k,0.5,"), "{}", csv.text());
    let markdown = writer.get(&format!("{of_run}/table?format=markdown&baseline={}", made.run)).await.expect(200);
    assert!(markdown.text().contains("| filled: student-0 | baseline |"), "{}", markdown.text());

    let solved = writer.get(&format!("{of_run}/solved?suite=GSM8K")).await.expect(200).json();
    assert_eq!(solved["first_solved"], json!([1, 1, 1]));
    assert_eq!(solved["steps"][0]["correct"], json!([3, 2, 2]));
    let reply = writer.get(&format!("{of_run}/solved?suite=nothing")).await.expect(400);
    assert_eq!(reply.places(), ["suite"]);

    let samples = writer.get(&format!("/api/v1/evaluations/{id}/samples?correct=false&subject=2")).await;
    let samples = samples.expect(200).json();
    assert_eq!(samples["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(samples["items"][0]["text"], "\\boxed{2}␀", "NUL, which Postgres cannot hold");

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
    assert_eq!((&first["doc_id"], &first["pass@1"], &first["target"]), (&json!(0), &json!(0.5), &json!("0")));
    assert_eq!(first["resps"][0].as_array().map(Vec::len), Some(2));
    export("?subject=9").await.expect(404);

    let leaders = writer.get("/api/v1/benchmarks/gsm8k/leaderboard?limit=1").await.expect(200).json();
    assert_eq!(leaders["items"][0]["name"], "student-0");
    // Names that are not a suite's, one of which no text of Postgres can be.
    for unknown in ["gsm9k", "%00"] {
        writer.get(&format!("/api/v1/benchmarks/{unknown}/leaderboard")).await.expect(404).problem();
    }
    let suites = writer.get("/api/v1/benchmarks").await.expect(200).json();
    let gsm8k = suites["items"].as_array().into_iter().flatten().find(|suite| suite["name"] == "gsm8k").expect("gsm8k");
    assert_eq!((&gsm8k["dataset"]["rows"], &gsm8k["group"]), (&json!(3), &json!("math")));
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
    let evaluation = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await.expect(201).json();
    let id: ExecutionId = evaluation["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    measured(&server, id).await;
    let table = writer.get(&format!("/api/v1/runs/{}/benchmarks/table", made.run)).await;
    assert_eq!(table.expect(200).json()["rows"].as_array().map(Vec::len), Some(3));
    server.stop().await;
}
