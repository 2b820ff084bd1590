//! What is kept: problems in full, archives, metrics, artifacts, datasets, work, workers, evaluations, presets.

use actix_web::http::Method;
use lyceum_core::artifact::Digest;
use lyceum_core::id::WorkerId;
use lyceum_core::work::{Device, Sampler, Trainer, WorkKind};
use lyceum_store::metrics::{self, MetricsQuery};
use lyceum_store::problems;
use lyceum_store::tokens::Scope;
use lyceum_store::work::{self, Failure, FailureKind, Slot};
use lyceum_store::workers::{self, NewWorker};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use crate::fixtures::filled;
use crate::harness::{TestServer, config};

#[actix_web::test]
async fn a_problem_is_shown_with_where_it_came_from_and_the_attempts_at_it() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    let shown =
        reader.get(&format!("/api/v1/runs/{}/problems/{}", made.run, made.problems[0])).await.expect(200).json();
    assert_eq!(shown["relations"].as_array().map(Vec::len), Some(5), "five came from it");
    let attempts = shown["first_attempts"].as_array().expect("attempts");
    assert_eq!(attempts.iter().map(|attempt| &attempt["sample"]).collect::<Vec<_>>(), [&json!(0), &json!(1)]);
    assert_eq!(attempts[0]["text"], "It is ␀ 2.", "what Postgres cannot hold is shown as a sign");
    assert_eq!(shown["values"]["nul"], "\u{0}");
    let other = filled(&server, 1).await;
    reader.get(&format!("/api/v1/runs/{}/problems/{}", other.run, made.problems[0])).await.expect(404);
    let correct = format!("/api/v1/runs/{}/attempts?problem={}&correct=true", made.run, made.problems[1]);
    assert_eq!(reader.get(&correct).await.expect(200).json()["items"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[actix_web::test]
async fn a_row_with_an_unknown_name_is_reported_with_its_column() {
    let server = TestServer::start().await;
    let made = filled(&server, 1).await;
    let db = server.store.pool();
    sqlx::query("UPDATE problems SET status = 'puzzled' WHERE id = $1")
        .bind(made.problems[0].0)
        .execute(db)
        .await
        .expect("an update");
    let error = problems::find(db, made.run, made.problems[0]).await.unwrap_err();
    let detail = format!("{:#}", anyhow::Error::from(error));
    for part in ["\"status\"", "`puzzled` is not a status of a verdict: valid are ok, malformed"] {
        assert!(detail.contains(part), "{detail}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn members_lineage_and_archive_are_shown() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    let run = format!("/api/v1/runs/{}", made.run);
    let get = |path: String| {
        let reader = reader.clone();
        async move { reader.get(&path).await.expect(200).json() }
    };
    let teacher = get(format!("{run}/members/{}", made.teacher)).await;
    assert_eq!(teacher["ratings"], json!([{"role": "teacher", "step": 0, "mu": 25.0, "sigma": 8.0}]));
    assert_eq!(teacher["version"]["ordinal"], 0);
    assert_eq!(get(format!("{run}/members?role=student&alive=true")).await["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(get(format!("{run}/members?alive=false")).await["items"], json!([]));

    let births = get(format!("{run}/lineage?order=oldest")).await;
    assert_eq!(births["items"][0]["seed"], u64::MAX);
    assert_eq!(births["items"][1]["parents"][0]["member_id"], made.teacher.to_string());

    let archive = get(format!("{run}/archive")).await;
    assert_eq!((archive["cells"].as_array().map(Vec::len), &archive["qd_score"]), (Some(4), &json!(2.0)));
    assert_eq!(get(format!("{run}/archive?step=0")).await["cells"], archive["cells"]);
    assert_eq!(get(format!("{run}/archive/insertions?cell=2")).await["items"].as_array().map(Vec::len), Some(1));

    let step = get(format!("{run}/steps/0")).await;
    assert_eq!((&step["total"], &step["ended"]), (&json!(1), &json!(0)));
    let shown = get(run).await;
    let totals = ["problems", "valid_problems", "attempts", "matchups", "cells"].map(|name| shown[name].clone());
    assert_eq!(totals, [6, 3, 12, 1, 4].map(|count| json!(count)), "totals are kept");
    server.stop().await;
}

#[actix_web::test]
async fn metrics_are_shown_by_name_and_downsampled() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 1).await;
    let address = format!("/api/v1/runs/{}/metrics", made.run);
    let all = reader.get(&address).await.expect(200).json();
    let recorded = json!(["reward", "solve_rate", "format_rate", "no_signal_share"]);
    assert_eq!(all["metrics"], recorded);
    assert_eq!(all["rows"][0]["mean"], json!([0.5, null]), "what there is no value of is null");
    assert_eq!(all["rows"].as_array().map(Vec::len), Some(2));
    let one = reader.get(&format!("{address}?metrics=solve_rate&member={}", made.teacher)).await.expect(200).json();
    assert_eq!((&one["metrics"], &one["rows"][0]["mean"]), (&json!(["solve_rate"]), &json!([1.0])));
    let reply = reader.get(&format!("{address}?metrics=rewrd,solve_rate")).await.expect(400);
    assert!(reply.json().to_string().contains("did you mean `reward`?"), "{reply:?}");

    sqlx::query(
        "INSERT INTO metrics (run_id, step, member_id, \"values\")
         SELECT $1, step, NULL, ARRAY[step, 1.0] FROM generate_series(1, 9) step",
    )
    .bind(made.run.0)
    .execute(server.store.pool())
    .await
    .expect("rows");
    sqlx::query(
        "INSERT INTO metric_levels (run_id, level, bucket, mean, min, max)
         SELECT $1, 1, bucket, ARRAY[bucket * 4 + 1.5, 1], ARRAY[bucket * 4.0, 1], ARRAY[bucket * 4 + 3.0, 1]
         FROM generate_series(0, 1) bucket",
    )
    .bind(made.run.0)
    .execute(server.store.pool())
    .await
    .expect("rows");
    let chart = reader.get(&format!("{address}?level=1&run_alone=true&metrics=reward")).await.expect(200).json();
    let rows: Vec<(i64, i64, f64)> = chart["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["step"].as_i64().unwrap(), row["width"].as_i64().unwrap(), row["mean"][0].as_f64().unwrap()))
        .collect();
    assert_eq!(rows, [(0, 4, 1.5), (4, 4, 5.5), (8, 1, 8.0), (9, 1, 9.0)]);

    for means_alone in [false, true] {
        let query = MetricsQuery { run_alone: true, level: 1, means_alone, limit: 1, ..MetricsQuery::default() };
        let row = metrics::rows(server.store.pool(), made.run, &query).await.expect("rows").rows.remove(0);
        let extremes = (!means_alone).then(|| (vec![0.0, 1.0], vec![3.0, 1.0]));
        assert_eq!((row.mean.clone(), row.min.zip(row.max)), (vec![1.5, 1.0], extremes));
    }
    server.stop().await;
}

#[actix_web::test]
async fn artifacts_are_written_and_read_by_their_hash() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let bytes = b"some weights".to_vec();
    let address = format!("/api/v1/artifacts/{}", Digest::of(&bytes));
    writer.get(&address).await.expect(404);
    let put = |body: &[u8], kind: &str| {
        let (writer, address, body) = (writer.clone(), format!("{address}?kind={kind}"), body.to_vec());
        async move { writer.send(Method::PUT, &address, Some(body)).await }
    };
    put(b"other weights", "adapter").await.expect(422);
    assert_eq!(put(&bytes, "adaptor").await.expect(400).places(), ["kind"]);
    assert_eq!(put(&bytes, "adapter").await.expect(201).json()["bytes"], 12);
    put(&bytes, "adapter").await.expect(201);
    let read = writer.get(&address).await.expect(200);
    assert_eq!(read.body, bytes);
    assert_eq!(read.header("content-type"), "application/octet-stream");
    server.stop().await;
}

#[actix_web::test]
async fn datasets_say_what_they_have_in_common() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let problem =
        |question: &str| json!({"task_id": question, "question": question, "oracle": {"type": "math", "gold": "1"}});
    let rows: Vec<Value> = (0..5).map(|n| problem(&format!("What is {n}?"))).collect();
    let made = writer.post("/api/v1/datasets", &json!({"name": "exam", "purpose": "benchmark", "rows": rows})).await;
    let exam = made.expect(201).json();
    assert_eq!((&exam["rows"], exam["sha256"].as_str().map(str::len)), (&json!(5), Some(64)));
    let same = json!([problem("what is  3?"), problem("What else?")]);
    let made = writer.post("/api/v1/datasets", &json!({"name": "train", "purpose": "training", "rows": same})).await;
    let address = format!("/api/v1/datasets/{}", made.expect(201).json()["id"].as_str().expect("an id"));
    let shown = writer.get(&address).await.expect(200).json();
    assert_eq!(shown["overlaps"][0]["name"], "exam");
    assert_eq!(shown["overlaps"][0]["rows"], 1);
    let first = writer.get(&format!("{address}/rows?limit=1")).await.expect(200).json();
    assert_eq!(first["items"], json!([{"index": 0, "row": same[0]}]));
    let only = writer.get("/api/v1/datasets?purpose=training").await.expect(200).json();
    assert_eq!(only["items"].as_array().map(Vec::len), Some(1));
    writer.delete(&address).await.expect(204);
    writer.get(&address).await.expect(404);
    server.stop().await;
}

#[actix_web::test]
async fn work_shows_its_errors_and_is_retried() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 1).await;
    let address = format!("/api/v1/work/{}", made.work);
    writer.act(&format!("{address}/retry")).await.expect(409);
    let id = WorkerId(Uuid::now_v7());
    let new = NewWorker {
        id,
        name: "hand",
        host: "here",
        device: "cpu",
        kernels: None,
        kinds: &[WorkKind::Verify],
        samplers: &[],
        trainers: &[],
        base_models: &[],
        memory_bytes: 1 << 30,
        versions: json!({"lyceum": "0.1.0"}),
    };
    workers::register(server.store.pool(), &new).await.expect("a worker");
    let slot = Slot {
        worker: id,
        kinds: vec![WorkKind::Verify],
        sampler: Sampler::Engine,
        trainers: vec![Trainer::Engine],
        device: Device::Cpu,
        kernels: None,
        base_models: None,
        loaded_models: vec![],
        lacking: vec![],
        memory_bytes: 1 << 30,
        lease: Duration::from_secs(60),
    };
    let claim = work::claim(server.store.pool(), &slot).await.expect("a claim").expect("an item");
    let failure = Failure { kind: FailureKind::Error, message: "no python".to_owned(), retry: false };
    work::fail(server.store.pool(), &claim, &failure).await.expect("a failure");
    let listed = writer.get("/api/v1/work?state=failed").await.expect(200).json();
    assert_eq!(listed["items"][0]["errors"][0]["message"], "no python");
    assert_eq!(listed["items"][0]["worker"], "hand");
    let run = format!("/api/v1/runs/{}", made.run);
    let failed = writer.get(&run).await.expect(200).json();
    assert_eq!(failed["state"], "failed");
    assert!(failed["error"].as_str().is_some_and(|error| error.contains("no python")), "{failed}");
    let retried = writer.act(&format!("{address}/retry")).await.expect(202).json();
    assert_eq!((&retried["state"], retried["errors"].as_array().map(Vec::len)), (&json!("ready"), Some(1)));
    assert_eq!(writer.get(&run).await.expect(200).json()["state"], "running");

    let workers = writer.get("/api/v1/workers?alive=true&state=idle").await.expect(200).json();
    assert_eq!(workers["items"][0]["versions"], json!({"lyceum": "0.1.0"}));
    writer.get(&format!("/api/v1/workers/{id}")).await.expect(200);
    server.stop().await;
}

#[actix_web::test]
async fn evaluations_are_planned_where_there_is_a_planner() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let spec = json!({"type": "cross_play", "run": Uuid::nil(), "step": 0, "problems": 1});
    let reply = writer.post("/api/v1/evaluations", &json!({"spec": spec})).await.expect(422);
    assert_eq!(reply.places(), ["/spec/type"]);
    assert!(reply.json().to_string().contains("cannot plan evaluations of type `cross_play` yet"), "{reply:?}");
    let spec =
        json!({"type": "benchmark", "suites": ["held-out-seedling"], "rows": 1, "base_model": {"name": "seedling"}});
    let made = writer.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 4})).await.expect(201).json();
    assert_eq!((&made["spec"]["type"], &made["state"]), (&spec["type"], &json!("running")));
    let address = format!("/api/v1/evaluations/{}", made["id"].as_str().expect("an id"));
    writer.get(&address.replace("evaluations", "runs")).await.expect(404);
    assert_eq!(
        writer.get("/api/v1/evaluations?state=running").await.expect(200).json()["items"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(writer.act(&format!("{address}/cancel")).await.expect(202).json()["state"], "cancelled");
    server.stop().await;
}

#[actix_web::test]
async fn presets_recipes_and_the_schema_of_configs_are_there_to_start_from() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let presets = reader.get("/api/v1/presets").await.expect(200).json();
    assert_eq!(presets["items"], json!([{"name": "small", "description": "A small run.", "config": config()}]));
    reader.get("/api/v1/presets/small").await.expect(200);
    let recipes = reader.get("/api/v1/recipes").await.expect(200).json();
    let names: Vec<&str> =
        recipes["items"].as_array().expect("a list").iter().filter_map(|recipe| recipe["name"].as_str()).collect();
    assert_eq!(
        names,
        ["azr", "gasp", "rlvr", "rzero", "sage", "scripted"],
        "planners of evaluations are not recipes for runs"
    );
    let [azr, scripted] = ["azr", "scripted"].map(|name| {
        let of_name = |recipe: &&Value| recipe["name"] == name;
        let items = recipes["items"].as_array().expect("a list");
        items.iter().find(of_name).expect("a recipe").clone()
    });
    assert_eq!(azr["roles"], json!([{"name": "proposer", "side": "proposing"}, {"name": "solver", "side": "solving"}]));
    assert_eq!(
        azr["capabilities"],
        json!({"rates": false, "evolves": false, "archives": true, "crosses": false, "stages": false, "repeats": false, "programs": true,
            "measures_diversity": false, "admits": false, "has_goalposts": false})
    );
    let names = azr["metrics"].as_array().expect("names");
    let details = azr["metric_details"].as_array().expect("details");
    assert!(names.iter().eq(details.iter().map(|metric| &metric["name"])));
    assert_eq!(
        details[0],
        json!({"name": "solve_rate", "unit": "share", "summary": "Attempts that solved their problem.",
            "group": "Solving", "charts": ["Solve rate"], "side": null, "highlights": ["step_line", "comparison"]})
    );
    assert_eq!(
        scripted["metric_details"][0],
        json!({"name": "reward", "unit": "points", "summary": "", "group": null, "charts": [], "side": "proposing",
            "highlights": ["comparison"]})
    );
    let open = reader.get("/api/v1/schema/run-config").await.expect(200).json();
    let own = reader.get("/api/v1/schema/run-config?recipe=scripted").await.expect(200).json();
    assert!(open["properties"]["parameters"]["properties"].is_null());
    assert_eq!(own["properties"]["parameters"]["properties"]["width"]["maximum"], 64);
    let reply = reader.get("/api/v1/schema/run-config?recipe=scriptd").await.expect(400);
    assert_eq!(reply.places(), ["recipe"]);
    server.stop().await;
}
