//! Evaluations of goalposts, the map of what was solved when, and datasets made of what nothing solved.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{GoalpostCountRecord, GoalpostParameters, Plan, Records};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Actor, TestServer};
use crate::operator_retention::{begun_on, trained};
use crate::outline::assert_reads_like;
use crate::views::browser;

const ROWS: usize = 6;

/// Functions to find.
async fn functions(writer: &Actor, name: &str, purpose: &str) -> Uuid {
    let row = |number: usize| {
        let pairs: Vec<_> = (0..4).map(|at| (at.to_string(), (at + number).to_string())).collect();
        json!({"type": "code_f", "task_id": format!("hard/{number}"), "program": format!("def f(a):\n return a+{number}"),
            "message": "add", "pairs": pairs})
    };
    let rows: Vec<Value> = (0..ROWS).map(row).collect();
    let body = json!({"name": name, "purpose": purpose, "rows": rows});
    let made = writer.post("/api/v1/datasets", &body).await.expect(201).json();
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// A run of three finished steps on these rows.
async fn run(server: &TestServer, writer: &Actor, rows: Uuid, seed: u64) -> ExecutionId {
    let overrides = json!({ "seed": seed, "parameters.dataset.rows": ROWS });
    trained(server, begun_on(writer, rows, &overrides).await).await
}

async fn asked(writer: &Actor, spec: &Value) -> ExecutionId {
    let body = json!({"spec": spec, "seed": 3});
    let made = writer.post("/api/v1/evaluations", &body).await.expect(201).json();
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

async fn parameters(server: &TestServer, id: ExecutionId) -> GoalpostParameters {
    let config: Value = sqlx::query_scalar("SELECT config FROM executions WHERE id = $1")
        .bind(id.0)
        .fetch_one(server.store.pool())
        .await
        .expect("a config");
    serde_json::from_value(config["parameters"].clone()).expect("parameters")
}

/// Lets an evaluation end with these counts: of checkpoint or control after a step, correct attempts by row.
async fn measured(server: &TestServer, id: ExecutionId, correct: &dyn Fn(bool, u32) -> [u32; ROWS]) {
    let parameters = parameters(server, id).await;
    for (place, of) in (0..).zip(&parameters.subjects) {
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, id).await.expect("a lock").expect("it is due");
        let subject = &of.subject;
        let plan = Plan {
            records: Records {
                goalpost_counts: vec![GoalpostCountRecord {
                    subject: place,
                    name: subject.name.clone(),
                    control: of.control,
                    run: subject.run,
                    member: subject.member,
                    version: subject.adapter.map(|adapter| adapter.version),
                    step: subject.step,
                    base_model: subject.base_model.name.clone(),
                    dataset: parameters.problems.dataset,
                    first_row: 0,
                    n: parameters.n,
                    correct: correct(of.control, subject.step.unwrap_or(0)).to_vec(),
                    completion_tokens: 10,
                    seconds: 0.5,
                }],
                ..Records::default()
            },
            result: Some(json!({
                "dataset": parameters.problems.dataset, "problems": ROWS, "n": parameters.n, "subjects": [],
            })),
            finish: Some(locked.state.next("", &json!([])).expect("a state")),
            ..Plan::default()
        };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
        tx.commit().await.expect("a commit");
    }
}

#[actix_web::test]
async fn checkpoints_become_exact_weights_each_with_its_control() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = functions(&writer, "candidates", "training").await;
    let run = run(&server, &writer, rows, 1).await;
    let spec = json!({"type": "goalposts", "dataset": "candidates", "runs": [{"run": run, "every": 2}], "n": 40});
    let id = asked(&writer, &spec).await;
    let found = parameters(&server, id).await;
    assert_eq!((found.problems.rows, found.n), (ROWS as u32, 40));
    assert_eq!(found.problems.protocol.prompts, "seedling", "problems of self-play");
    assert_eq!((found.problems.protocol.temperature, found.problems.protocol.max_tokens), (0.6, 144));
    let subjects: Vec<_> =
        found.subjects.iter().map(|of| (of.subject.step, of.control, of.subject.adapter.is_some())).collect();
    let wanted = [
        (Some(0), false, false),
        (Some(2), false, true),
        (Some(2), true, false),
        (Some(3), false, true),
        (Some(3), true, false),
    ];
    assert_eq!(subjects, wanted, "the base, then every checkpoint with its control");
    assert_ne!(found.subjects[1].subject.adapter, found.subjects[3].subject.adapter);

    let bare = json!({"type": "goalposts", "dataset": rows, "runs": [{"run": run, "steps": [1]}], "control": false, "base": false});
    let found = parameters(&server, asked(&writer, &bare).await).await;
    assert_eq!((found.subjects.len(), found.n), (1, 100));
    assert_eq!(found.subjects[0].subject.step, Some(1));
    server.stop().await;
}

#[actix_web::test]
async fn what_cannot_be_measured_is_refused_with_its_place() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = functions(&writer, "candidates", "training").await;
    let run = run(&server, &writer, rows, 1).await;
    functions(&writer, "suite", "benchmark").await;
    let spec = |own: Value| {
        let mut spec = json!({"type": "goalposts", "dataset": "candidates", "runs": [{"run": run}]});
        for (name, value) in own.as_object().expect("fields") {
            spec[name] = value.clone();
        }
        spec
    };
    for (own, pointer, words) in [
        (json!({"dataset": "nope"}), "/spec/dataset", "there is no dataset `nope`"),
        (json!({"dataset": "suite"}), "/spec/dataset", "is for benchmark"),
        (json!({"dataset": null}), "/spec/dataset", "name the dataset"),
        (json!({"rows": 99}), "/spec/rows", "which has 6"),
        (json!({"temperature": 0.0}), "/spec/temperature", "the same 100 times"),
        (json!({"prompts": "nope"}), "/spec/prompts", "valid are"),
        (json!({"runs": []}), "/spec", "no checkpoint to attempt"),
        (json!({"runs": [{"run": Uuid::nil()}]}), "/spec/runs/0/run", "there is no run"),
        (json!({"runs": [{"run": run}, {"run": run}]}), "/spec/runs/1/run", "listed twice"),
        (json!({"runs": [{"run": run, "steps": [4]}]}), "/spec/runs/0/steps", "0 to 3 is valid"),
    ] {
        let reply = writer.post("/api/v1/evaluations", &json!({ "spec": spec(own.clone()) })).await;
        let faults = reply.expect(422).json()["errors"].as_array().cloned().expect("faults");
        let found = faults.iter().find(|fault| fault["pointer"] == pointer);
        let detail = found.unwrap_or_else(|| panic!("{own}: {faults:?}"))["detail"].as_str().expect("text").to_owned();
        assert!(detail.contains(words), "{own}: {detail}");
    }
    server.stop().await;
}

/// Seed 1 solves row 2 after step 2 and row 4 after step 3, seed 2 row 2 again; their controls solve row 4 once.
async fn two_seeds(server: &TestServer, writer: &Actor) -> [ExecutionId; 2] {
    let rows = functions(writer, "candidates", "training").await;
    let mut runs = Vec::new();
    for seed in [1, 2] {
        let run = run(server, writer, rows, seed).await;
        let spec = json!({"type": "goalposts", "dataset": "candidates", "runs": [{"run": run, "every": 2}]});
        measured(server, asked(writer, &spec).await, &move |control, step| match (seed, control, step) {
            (1, false, 2) => [0, 0, 1, 0, 0, 0],
            (1, false, 3) => [0, 0, 0, 0, 7, 0],
            (2, false, 3) => [0, 0, 3, 0, 0, 0],
            (2, true, 3) => [0, 0, 0, 0, 1, 0],
            _ => [0; ROWS],
        })
        .await;
        runs.push(run);
    }
    [runs[0], runs[1]]
}

#[actix_web::test]
async fn the_map_has_first_solves_unions_over_seeds_and_the_control() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let runs = two_seeds(&server, &writer).await;
    let address = format!("/api/v1/goalposts?runs={},{}", runs[0], runs[1]);
    let map = writer.get(&address).await.expect(200).json();
    assert_eq!(map["dataset"]["name"], "candidates");
    let arms = map["arms"].as_array().expect("arms");
    let [arm] = &arms[..] else { panic!("seeds of one arm: {arms:?}") };
    let solved = |side: &Value| side["solved"].as_u64();
    let by_seed: Vec<_> = arm["runs"].as_array().expect("runs").iter().map(|run| solved(&run["checkpoints"])).collect();
    assert_eq!(by_seed, [Some(2), Some(1)]);
    assert_eq!((solved(&arm["checkpoints"]), solved(&arm["control"])), (Some(2), Some(1)));
    assert_eq!(
        arm["checkpoints"]["attempts"], arm["control"]["attempts"],
        "the base has as many attempts as the checkpoints"
    );
    let so_far: Vec<_> =
        arm["checkpoints"]["steps"].as_array().expect("steps").iter().map(|at| &at["solved_so_far"]).collect();
    assert_eq!(so_far, [&json!(0), &json!(1), &json!(2)]);
    let goalposts = map["goalposts"].as_array().expect("goalposts");
    let rows: Vec<_> = goalposts.iter().map(|one| (&one["row"], &one["task_id"])).collect();
    assert_eq!(rows, [(&json!(2), &json!("hard/2")), (&json!(4), &json!("hard/4"))]);
    assert_eq!(
        goalposts[0]["arms"][0]["solves"],
        json!([{"step": 2, "correct": 1, "attempts": 200}, {"step": 3, "correct": 3, "attempts": 200}])
    );
    assert_eq!(goalposts[1]["arms"][0]["control"], json!([{"step": 3, "correct": 1, "attempts": 200}]));

    let csv = writer.get(&format!("{address}&format=csv")).await.expect(200).text();
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.contains(",true,4,hard/4,3,1,200"), "{csv}");
    let alone = writer.get(&format!("/api/v1/runs/{}/goalposts", runs[1])).await.expect(200).json();
    assert_eq!((solved(&alone["arms"][0]["checkpoints"]), solved(&alone["arms"][0]["control"])), (Some(1), Some(1)));

    let page =
        browser(&writer).get(&format!("/compare/goalposts?runs={},{}", runs[0], runs[1])).await.expect(200).text();
    assert_reads_like("goalposts.equal-attempts", &page);
    let refused = writer.get("/api/v1/goalposts?runs=x").await.expect(400).text();
    assert!(refused.contains("`x` is not the id of a run"), "{refused}");
    writer.get(&format!("{address}&dataset={}", Uuid::nil())).await.expect(404);
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_is_deleted_while_it_is_measured_takes_only_its_own_counts_with_it() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = functions(&writer, "candidates", "training").await;
    let kept = run(&server, &writer, rows, 1).await;
    let deleted = run(&server, &writer, rows, 2).await;
    let runs = [kept, deleted].map(|run| json!({"run": run, "every": 2}));
    let spec = json!({"type": "goalposts", "dataset": "candidates", "runs": runs});
    let id = asked(&writer, &spec).await;
    let address = format!("/api/v1/runs/{deleted}");
    if writer.get(&address).await.expect(200).json()["finished_at"].is_null() {
        writer.act(&format!("{address}/cancel")).await.expect(202);
    }
    writer.delete(&address).await.expect(204);
    measured(&server, id, &|_, _| [1; ROWS]).await;
    let counts = lyceum_store::goalposts::of_evaluation(server.store.pool(), id).await.expect("counts");
    assert!(!counts.is_empty());
    assert!(counts.iter().all(|of| of.run_id == Some(kept.0)), "{counts:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_second_measurement_of_a_checkpoint_replaces_the_first() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let runs = two_seeds(&server, &writer).await;
    let spec =
        json!({"type": "goalposts", "dataset": "candidates", "runs": [{"run": runs[0], "steps": [3]}], "base": false});
    measured(&server, asked(&writer, &spec).await, &|control, _| [u32::from(!control), 0, 0, 0, 0, 0]).await;
    let map = writer.get(&format!("/api/v1/runs/{}/goalposts", runs[0])).await.expect(200).json();
    let rows: Vec<_> = map["goalposts"].as_array().expect("goalposts").iter().map(|one| one["row"].clone()).collect();
    assert_eq!(rows, [json!(0), json!(2)], "row 4 was solved in the older measurement of step 3 alone");
    server.stop().await;
}

#[actix_web::test]
async fn a_control_with_other_attempts_is_not_said_to_have_as_many() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let runs = two_seeds(&server, &writer).await;
    let spec = json!({
        "type": "goalposts", "dataset": "candidates", "runs": [{"run": runs[0], "steps": [3]}],
        "base": false, "control": false, "n": 1000,
    });
    measured(&server, asked(&writer, &spec).await, &|_, _| [0, 0, 1, 0, 0, 0]).await;
    let map = writer.get(&format!("/api/v1/runs/{}/goalposts", runs[0])).await.expect(200).json();
    let attempts = |side: &str| map["arms"][0][side]["attempts"].as_u64().expect("attempts");
    let fewer = 900 * ROWS as u64;
    assert_eq!(attempts("checkpoints"), attempts("control") + fewer);
    let of_step = |side: &str| map["arms"][0][side]["steps"][2]["attempts"].as_u64().expect("attempts");
    assert_eq!(of_step("checkpoints"), of_step("control") + fewer);
    let address = format!("/compare/goalposts?runs={},{}", runs[0], runs[1]);
    let page = browser(&writer).get(&address).await.expect(200).text();
    assert_reads_like("goalposts.unequal-attempts", &page);
    server.stop().await;
}

#[actix_web::test]
async fn goalposts_are_the_rows_that_no_attempt_solved() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let runs = two_seeds(&server, &writer).await;
    let all = writer.get("/api/v1/evaluations?limit=100&order=oldest").await.expect(200).json();
    let ids: Vec<_> = all["items"].as_array().expect("evaluations").iter().map(|one| one["id"].clone()).collect();
    let asked_of = |name: &str, evaluations: &[Value]| json!({"name": name, "evaluations": evaluations});
    let made = writer.post("/api/v1/goalposts", &asked_of("hard", &ids)).await.expect(201).json();
    assert_eq!((&made["purpose"], &made["rows"]), (&json!("goalposts"), &json!(4)));
    let provenance = &made["provenance"];
    assert_eq!(provenance["kept"], json!([0, 1, 3, 5]), "row 4 was solved by a control alone");
    assert_eq!(provenance["dataset"]["name"], "candidates");
    assert_eq!(provenance["evaluations"].as_array().map(Vec::len), Some(2));
    let rows = writer.get(&format!("/api/v1/datasets/{}/rows", made["id"].as_str().expect("an id"))).await.expect(200);
    assert_eq!(rows.json()["items"][2]["row"]["task_id"], "hard/3");
    // It is not learned from.
    let config = json!({
        "recipe": "rlvr",
        "steps": 1,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": {
            "dataset": {"name": "hard"}, "prompts": "seedling", "batch": 2, "n": 2, "sampling": {"max_tokens": 24},
        },
    });
    let refused = writer.post("/api/v1/runs", &json!({ "config": config })).await;
    assert!(refused.expect(422).text().contains("is for goalposts"));

    let first =
        asked(&writer, &json!({"type": "goalposts", "dataset": "candidates", "runs": [{"run": runs[0]}]})).await;
    let refused = |evaluations: Value| {
        let writer = &writer;
        async move {
            let body = json!({"name": "other", "evaluations": evaluations});
            let reply = writer.post("/api/v1/goalposts", &body).await.expect(422);
            reply.json()["errors"][0]["detail"].as_str().expect("text").to_owned()
        }
    };
    assert!(refused(json!([first])).await.contains("a completed one is valid"));
    assert!(refused(json!([Uuid::nil()])).await.contains("there is no evaluation"));
    measured(&server, first, &|_, _| [1; ROWS]).await;
    assert!(refused(json!([first])).await.contains("so none is left"));
    let taken = writer.post("/api/v1/goalposts", &asked_of("hard", &ids)).await;
    taken.expect(409);
    // A benchmark asks the same.
    functions(&writer, "suite", "benchmark").await;
    assert!(refused(json!(ids)).await.contains("the benchmark `suite`"));
    server.stop().await;
}
