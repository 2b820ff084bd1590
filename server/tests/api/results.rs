//! Results of runs: differences from the base on the same rows, and nothing for what was measured in another way.

use lyceum_core::id::ExecutionId;
use lyceum_core::verdict::{Against, Comparison};
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::benchmarks::{imported, measured, row};
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};

/// A result as it is written: of whom, on what, and which rows were solved.
pub(crate) struct Written<'a> {
    pub(crate) run: ExecutionId,
    pub(crate) name: &'a str,
    pub(crate) step: Option<i32>,
    pub(crate) dataset: Option<Uuid>,
    pub(crate) temperature: f64,
    pub(crate) correct: &'a [i32],
}

impl Written<'_> {
    /// Writes it, of an evaluation of its own.
    pub(crate) async fn write(&self, server: &TestServer) {
        sqlx::query(
            "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, step, steps, finished_at)
                 VALUES (gen_random_uuid(), 'evaluation', 'evaluation/benchmark', '{}', 'completed', 1, 1, now()) RETURNING id),
             v AS (INSERT INTO evaluations (id, run_id, spec) SELECT id, $1, '{\"type\": \"benchmark\"}' FROM e RETURNING id)
             INSERT INTO benchmark_results (id, evaluation_id, suite, subject, name, role, run_id, member_id, step, base_model,
                 dataset_id, protocol, n, rows, samples, correct, pass_at_1, standard_error, completion_tokens, seconds,
                 row_set, decoding)
             SELECT gen_random_uuid(), v.id, 'gsm8k', 0, $2, split_part($2, '-', 1), $1,
                 (SELECT id FROM members WHERE run_id = $1 AND name = $2), $3, 'seedling', $4,
                 jsonb_build_object('prompts', 'azr', 'temperature', $5::float8), 1, cardinality($6),
                 array_fill(1, ARRAY[cardinality($6)]), $6, (SELECT avg(c) FROM unnest($6) c), 0.1, 10, 1, '', '' FROM v",
        )
        .bind(self.run.0)
        .bind(self.name)
        .bind(self.step)
        .bind(self.dataset)
        .bind(self.temperature)
        .bind(self.correct)
        .execute(server.store.pool())
        .await
        .expect("a result");
        server.renew_results().await;
    }
}

/// A run with two students, and a dataset of four rows.
pub(crate) async fn prepared(server: &TestServer, writer: &Actor) -> (ExecutionId, Uuid) {
    let run = filled(server, 1).await.run;
    sqlx::query(
        "INSERT INTO members (id, run_id, population_id, name, roles, born_step)
         SELECT gen_random_uuid(), run_id, population_id, 'student-1', roles, 0 FROM members
         WHERE run_id = $1 AND name = 'student-0'",
    )
    .bind(run.0)
    .execute(server.store.pool())
    .await
    .expect("a second student");
    (run, dataset(writer, "four rows").await)
}

/// Imports four rows, always the same, as a benchmark of this name.
async fn dataset(writer: &Actor, name: &str) -> Uuid {
    let rows: Vec<_> = (0..4).map(row).collect();
    let body = json!({"name": name, "purpose": "benchmark", "suite": "gsm8k", "rows": rows});
    let made = writer.post("/api/v1/datasets", &body).await.expect(201).json();
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

async fn results(actor: &Actor, run: ExecutionId) -> Vec<Value> {
    let answer = actor.get(&format!("/api/v1/runs/{run}/results")).await.expect(200).json();
    answer["items"].as_array().expect("results").clone()
}

#[actix_web::test]
async fn a_result_is_the_mean_of_those_who_solve_and_is_compared_with_the_base_row_by_row() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (run, dataset) = prepared(&server, &writer).await;
    let of = |name, step, correct| Written { run, name, step, dataset: Some(dataset), temperature: 0.0, correct };
    of("student-0", Some(10), &[1, 1, 1, 1]).write(&server).await;
    of("student-1", Some(10), &[1, 1, 0, 0]).write(&server).await;
    of("teacher-0", Some(10), &[0, 0, 0, 0]).write(&server).await;
    of("student-0", Some(20), &[1, 0, 0, 0]).write(&server).await;
    let found = results(&writer, run).await;
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    };
    assert_eq!((&found[0]["members"], &found[0]["rows"]), (&json!(2), &json!(4)));
    close(&found[0]["pass_at_1"], 0.75);
    // Rows 1, 1, 0.5, 0.5: statistics.stdev([1, 1, .5, .5]) / 2 in Python.
    close(&found[0]["standard_error"], 0.144_337_567_297_406_43);
    assert_eq!(found[0]["reference"], Value::Null, "nothing was measured before");
    let compared = |found: &Value, against: Against, reference: &[f64], value: &[f64]| {
        let step = found["step"].as_i64().expect("a step") as i32;
        let expected = Comparison::paired(against, step, reference, value).expect("rows");
        close(&found["reference"], expected.reference);
        close(&found["difference_low"], expected.difference.low);
        close(&found["difference_high"], expected.difference.high);
    };
    let rows = ([1.0, 1.0, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0]);
    compared(&found[1], Against::Step(10), &rows.0, &rows.1);
    assert_eq!(found[1]["reference_step"], 10, "the base is unknown, the first measurement is not");

    // Whoever waited for the base is compared with it.
    of("base", None, &[0, 1, 0, 0]).write(&server).await;
    let found = results(&writer, run).await;
    let base = [0.0, 1.0, 0.0, 0.0];
    compared(&found[0], Against::Base, &base, &rows.0);
    compared(&found[1], Against::Base, &base, &rows.1);
    assert_eq!(found[1]["reference_step"], Value::Null);
    let each = writer.get(&format!("/api/v1/runs/{run}/benchmarks")).await.expect(200).json();
    let teacher = each["items"].as_array().expect("results").iter().find(|one| one["name"] == "teacher-0");
    compared(teacher.expect("a teacher"), Against::Base, &base, &[0.0; 4]);
    server.stop().await;
}

#[actix_web::test]
async fn equal_rows_of_two_imports_are_compared_and_others_are_not() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (run, first) = prepared(&server, &writer).await;
    let of = |name, step, dataset, temperature, correct| Written {
        run,
        name,
        step,
        dataset: Some(dataset),
        temperature,
        correct,
    };
    of("base", None, first, 0.0, &[0, 1, 0, 0]).write(&server).await;
    sqlx::query("DELETE FROM datasets WHERE id = $1")
        .bind(first)
        .execute(server.store.pool())
        .await
        .expect("a deletion");
    let second = dataset(&writer, "the same rows").await;
    of("student-0", Some(10), second, 0.0, &[1, 1, 1, 0]).write(&server).await;
    of("student-0", Some(10), second, 1.0, &[1, 1, 1, 1]).write(&server).await;
    of("student-0", Some(10), second, 0.0, &[1, 1]).write(&server).await;
    let found = results(&writer, run).await;
    let with_reference: Vec<&Value> = found.iter().filter(|one| !one["reference"].is_null()).collect();
    let [compared] = with_reference[..] else { panic!("one has the base's rows and decoding: {found:?}") };
    assert_eq!((&compared["rows"], &compared["pass_at_1"]), (&json!(4), &json!(0.75)));
    assert_eq!(found.len(), 3, "each is a result of its own: {found:?}");
    server.stop().await;
}

#[actix_web::test]
async fn runs_are_sorted_and_averaged_by_results_on_the_same_rows_alone() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (usual, dataset) = prepared(&server, &writer).await;
    let (worse, other) = (filled(&server, 1).await.run, filled(&server, 1).await.run);
    let of = |run, name, step, correct| Written { run, name, step, dataset: Some(dataset), temperature: 0.0, correct };
    for run in [usual, worse] {
        of(run, "base", None, &[0, 1, 0, 0]).write(&server).await;
    }
    of(usual, "student-0", Some(10), &[1, 1, 0, 0]).write(&server).await;
    of(worse, "student-0", Some(10), &[1, 0, 0, 0]).write(&server).await;
    of(other, "student-0", Some(10), &[1]).write(&server).await;
    let columns = "columns=benchmarks.gsm8k,difference.gsm8k";
    let page = writer.get(&format!("/runs.json?{columns}&sort=difference.gsm8k")).await.expect(200).json();
    let shown: Vec<(&Value, &Value, &Value)> = page["items"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| {
            let values = &run["values"];
            (&run["id"], &values["benchmarks.gsm8k"], &values["difference.gsm8k"])
        })
        .collect();
    let [usual, worse, other] = [usual, worse, other].map(|run| json!(run));
    assert_eq!(
        shown,
        [
            (&usual, &json!(0.5), &json!(0.25)),
            (&worse, &json!(0.25), &json!(0.0)),
            (&other, &json!("100.0 (n = 1)"), &Value::Null),
        ]
    );
    let groups = writer.get(&format!("/runs.json?{columns}&group=recipe")).await.expect(200).json();
    let mean = &groups["groups"][0]["values"]["benchmarks.gsm8k"];
    assert_eq!((&mean["mean"], &mean["n"]), (&json!(0.375), &json!(2)), "{groups}");
    let best = writer.get("/api/v1/benchmarks/gsm8k/leaderboard").await.expect(200).json();
    let ranked: Vec<(&Value, &Value)> =
        best["items"].as_array().expect("results").iter().map(|one| (&one["pass_at_1"], &one["rows"])).collect();
    assert_eq!(
        ranked,
        [(0.5, 4), (0.25, 4), (0.25, 4), (1.0, 1)]
            .map(|(share, rows)| (json!(share), json!(rows)))
            .each_ref()
            .map(|(a, b)| (a, b)),
        "one row says little, and is not beside the others"
    );
    let page = writer.get("/leaderboard.json?suite=gsm8k").await.expect(200).json();
    let ranked: Vec<&Value> = page["ranked_runs"].as_array().expect("runs").iter().map(|one| &one["run_id"]).collect();
    assert_eq!(ranked, [&usual, &worse], "by their difference; the third has no base");
    server.stop().await;
}

#[actix_web::test]
async fn a_sample_of_a_suite_is_a_dataset_of_its_own_that_is_made_once() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    let whole = imported(&writer).await;
    let slice = async |rows: u32| -> Value {
        let spec =
            json!({"type": "benchmark", "suites": ["gsm8k"], "run": run, "n": 2, "temperature": 0.8, "rows": rows});
        let made = writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await.expect(201).json();
        let id: ExecutionId = made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        if rows == 3 {
            measured(&server, id).await;
        }
        sqlx::query_scalar("SELECT config #> '{parameters,suites,0}' FROM executions WHERE id = $1")
            .bind(id.0)
            .fetch_one(server.store.pool())
            .await
            .expect("its config")
    };
    assert_eq!(slice(3).await["dataset"], whole["id"], "these are all");
    let (first, second) = (slice(2).await, slice(2).await);
    assert_eq!((&first["dataset"], &first["rows"]), (&second["dataset"], &json!(2)));
    let id = first["dataset"].as_str().expect("an id");
    let sample = writer.get(&format!("/api/v1/datasets/{id}")).await.expect(200).json();
    assert_eq!(sample["provenance"]["dataset"], whole["id"]);
    let drawn = lyceum_core::benchmark::spread_rows(3, 2);
    assert_eq!(sample["provenance"]["sampled_rows"], json!(drawn));
    let rows = writer.get(&format!("/api/v1/datasets/{id}/rows")).await.expect(200).json();
    let tasks: Vec<&Value> = rows["items"].as_array().expect("rows").iter().map(|one| &one["row"]["task_id"]).collect();
    assert_eq!(
        tasks,
        drawn.iter().map(|row| json!(format!("gsm8k/{row}"))).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    server.stop().await;
}

#[actix_web::test]
async fn what_a_fork_copied_is_in_its_results_once() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (trunk, fork) = (filled(&server, 1).await.run, filled(&server, 1).await.run);
    sqlx::query("UPDATE runs SET forked_from = $1, forked_at_step = 3 WHERE id = $2")
        .bind(trunk.0)
        .bind(fork.0)
        .execute(server.store.pool())
        .await
        .expect("a fork");
    for run in [trunk, fork] {
        sqlx::query(
            "INSERT INTO held_out_results (run_id, step, member_id, version_id, first_row, n, correct)
             SELECT v.run_id, measured, v.member_id, v.id, 0, 4, ARRAY[measured, 2]
             FROM adapter_versions v JOIN members m ON m.id = v.member_id, unnest(ARRAY[0, 2]) measured
             WHERE v.run_id = $1 AND m.name = 'student-0' AND v.ordinal = 0",
        )
        .bind(run.0)
        .execute(server.store.pool())
        .await
        .expect("measurements");
    }
    server.renew_results().await;
    sqlx::query("UPDATE run_results SET row_set = 'the same rows'")
        .execute(server.store.pool())
        .await
        .expect("equal rows");
    let found = results(&writer, fork).await;
    let read: Vec<_> = found.iter().map(|one| (&one["step"], &one["run_id"])).collect();
    let own = json!(fork);
    assert_eq!(read, [(&json!(0), &own), (&json!(2), &own)]);
    assert_eq!((&found[1]["reference"], &found[1]["reference_step"]), (&json!(0.25), &Value::Null));
    server.stop().await;
}
