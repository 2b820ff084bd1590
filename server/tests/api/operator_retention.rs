//! Evaluations of operator retention: what they resolve to, what is refused, and their curves.

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::{ExecutionId, MemberId, PopulationId, VersionId};
use lyceum_core::recipe::{MemberRecord, Plan, PopulationRecord, Records, Role, VersionRecord};
use lyceum_core::work::{BaseModel, LoraShape};
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Actor, TestServer, config};
use crate::outline::assert_reads_like;
use crate::views::browser;

/// Steps of the parents' runs.
const STEPS: u32 = 3;

async fn dataset(writer: &Actor, name: &str) -> Uuid {
    let row = |number: u32| json!({"type": "code_o", "program": format!("def f(a):\n return a+{number}"), "input": "1", "output": "1"});
    let rows: Vec<Value> = (0..8).map(row).collect();
    let body = json!({"name": name, "purpose": "training", "rows": rows});
    let made = writer.post("/api/v1/datasets", &body).await.expect(201).json();
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// A run of RLVR with these values instead of the usual ones, by dotted path.
pub(crate) async fn begun_on(writer: &Actor, dataset: Uuid, overrides: &Value) -> ExecutionId {
    let config = json!({
        "recipe": "rlvr",
        "steps": STEPS,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": {
            "dataset": {"id": dataset, "rows": 8}, "prompts": "seedling", "batch": 4, "n": 2, "sampling": {"max_tokens": 24},
        },
    });
    let body = json!({"config": config, "overrides": overrides});
    let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

/// Carries out what the run's recipe would: every member is born, and updated in each step.
pub(crate) async fn trained(server: &TestServer, run: ExecutionId) -> ExecutionId {
    for step in 0..STEPS {
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("it is due");
        let population = locked.state.config.populations["main"].clone();
        let count: u32 = population.members.iter().map(|group| group.count).sum();
        let mut records = Records::default();
        if step == 0 {
            records.populations.push(PopulationRecord {
                id: PopulationId::of(run, "main"),
                name: "main".to_owned(),
                base_model: BaseModel::clone(&population.base_model),
                lora: LoraShape::clone(&population.lora),
            });
        }
        for place in 0..count {
            let name = format!("solver-{place}");
            let member = MemberId::of(run, &name);
            let births = if step == 0 { 0..2 } else { step + 1..step + 2 };
            for ordinal in births {
                let bytes = format!("{run} {name} {ordinal}").into_bytes();
                let artifact = server.artifacts.put(ArtifactKind::Adapter, bytes).await.expect("weights");
                records.versions.push(VersionRecord {
                    id: VersionId::of(member, ordinal),
                    member,
                    ordinal,
                    artifact,
                    optimizer: None,
                    learning_rate: None,
                });
            }
            if step == 0 {
                records.members.push(MemberRecord {
                    id: member,
                    population: PopulationId::of(run, "main"),
                    name,
                    roles: vec![Role::Solver],
                });
            }
        }
        let plan =
            Plan { records, finish: Some(locked.state.next("", &json!({})).expect("a state")), ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
        tx.commit().await.expect("a commit");
    }
    run
}

fn spec(parents: &[Value], own: &Value) -> Value {
    let mut spec = json!({"type": "operator_retention", "parents": parents, "snapshots": [2]});
    for (name, value) in own.as_object().expect("fields") {
        spec[name] = value.clone();
    }
    json!({"spec": spec, "seed": 3})
}

fn of(run: ExecutionId) -> Value {
    json!({ "run": run })
}

#[actix_web::test]
async fn parents_become_exact_weights_and_rows() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = dataset(&writer, "rows").await;
    let two = json!({"populations.main.members.0.count": 2, "parameters.slices": true, "parameters.batch": 2});
    let run = trained(&server, begun_on(&writer, rows, &two).await).await;
    let parents = ["solver-0", "solver-1"].map(|member| json!({"run": run, "member": member}));
    let body = spec(&parents, &json!({"every": 2, "steps": 4}));
    let made = writer.post("/api/v1/evaluations", &body).await.expect(201).json();
    assert_eq!(made["run_id"], json!(run));
    assert_eq!(made["steps"], 5, "the last step only measures");
    let id = made["id"].as_str().expect("an id");
    let config: Value = sqlx::query_scalar("SELECT config FROM executions WHERE id = $1::text::uuid")
        .bind(id)
        .fetch_one(server.store.pool())
        .await
        .expect("a config");
    let parameters = &config["parameters"];
    assert_eq!(parameters["operators"].as_array().map(Vec::len), Some(17));
    assert_eq!(parameters["training"]["items"]["update"], 8);
    let tasks = parameters["tasks"].as_array().expect("tasks");
    let slices: Vec<_> = tasks.iter().map(|task| (&task["first_row"], &task["rows"])).collect();
    assert_eq!(slices, [(&json!(0), &json!(4)), (&json!(4), &json!(4))]);
    for (task, name) in tasks.iter().zip(["solver-0", "solver-1"]) {
        let member = MemberId::of(run, name);
        let version = &task["curve"][0]["adapter"]["version"];
        assert_eq!(version, &json!(VersionId::of(member, 2)), "the weights after two steps");
        assert_eq!(task["curve"].as_array().map(Vec::len), Some(1));
    }
    let held: i64 = sqlx::query_scalar("SELECT count(*) FROM artifact_holds WHERE execution_id = $1::text::uuid")
        .bind(id)
        .fetch_one(server.store.pool())
        .await
        .expect("a count");
    assert_eq!(held, 2, "the parents' weights stay as long as the evaluation");

    let shown = format!("/api/v1/evaluations/{id}");
    let csv = format!("{shown}/export?format=csv");
    writer.get(&csv).await.expect(404);
    let page = writer.get(&format!("/evaluations/{id}.json")).await.expect(200).json();
    assert_eq!(page["result"], Value::Null);
    let point = json!({"step": 0, "pass_rate": 0.5, "standard_error": 0.1, "recovery": {"value": 0.8, "standard_error": 0.2},
        "recovered": true, "seeds": []});
    let rate = json!({"pass_rate": 0.1, "standard_error": 0.05});
    let result = json!({
        "tasks": [{"run": run, "member": Uuid::nil(), "name": "solver-0", "dataset": rows, "first_row": 0, "rows": 4, "measured": 4,
            "base": rate, "curve": []}],
        "children": [{"operator": "M1", "snapshot": 2, "task": 0, "recovered_at": 0, "points": [point]}],
    });
    sqlx::query("UPDATE evaluations SET result = $2 WHERE id = $1::text::uuid")
        .bind(id)
        .bind(&result)
        .execute(server.store.pool())
        .await
        .expect("an update");
    assert_eq!(writer.get(&shown).await.expect(200).json()["result"], result);
    let csv = writer.get(&csv).await.expect(200);
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    assert!(csv.text().contains("M1,2,0,solver-0,,0,2,0.5,0.1,0.8,0.2,true"), "{csv:?}");
    let page = browser(&writer).get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert_reads_like("evaluation.operator_retention", &page);
    sqlx::query("UPDATE evaluations SET spec = '{\"type\": \"cross_play\"}' WHERE id = $1::text::uuid")
        .bind(id)
        .execute(server.store.pool())
        .await
        .expect("an update");
    let other = writer.get(&format!("{shown}/export?format=csv")).await.expect(404);
    assert!(other.text().contains("operator_retention"), "{other:?}");
    for (parameter, asked) in [("format", "format=evalplus"), ("suite", "suite=gsm8k"), ("subject", "subject=3")] {
        let refused = writer.get(&format!("{shown}/export?{asked}")).await.expect(400);
        assert_eq!(refused.places(), [parameter], "{refused:?}");
        assert!(refused.text().contains("of type cross_play"), "{refused:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn each_refusal_names_the_field_and_the_cure() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = dataset(&writer, "rows").await;
    let gone = dataset(&writer, "gone").await;
    let start = |overrides: Value| {
        let (writer, server) = (&writer, &server);
        async move { trained(server, begun_on(writer, rows, &overrides).await).await }
    };
    let first = start(json!({})).await;
    let second = start(json!({"seed": 1})).await;
    let wide = start(json!({"populations.main.lora.r": 4})).await;
    let foreign = start(json!({"populations.main.base_model.name": "another"})).await;
    let larger = start(json!({"parameters.batch": 8})).await;
    let pair = start(json!({"populations.main.members.0.count": 2})).await;
    let single = start(json!({"parameters.batch": 1})).await;
    let orphan = trained(&server, begun_on(&writer, gone, &json!({})).await).await;
    sqlx::query("UPDATE executions SET state = 'completed' WHERE id = $1")
        .bind(orphan.0)
        .execute(server.store.pool())
        .await
        .expect("an update");
    writer.delete(&format!("/api/v1/datasets/{gone}")).await.expect(204);
    let unborn = begun_on(&writer, rows, &json!({})).await;
    let scripted = writer.post("/api/v1/runs", &json!({"config": config()})).await.expect(201).json();
    let scripted = ExecutionId(scripted["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    let nobody = ExecutionId(Uuid::nil());
    let named = |run: ExecutionId, member: &str| json!({"run": run, "member": member});
    let plain = json!({});
    for (parents, own, place, said) in [
        (vec![of(nobody)], plain.clone(), "/spec/parents/0/run", "there is no run"),
        (vec![of(first), of(nobody)], plain.clone(), "/spec/parents/1/run", "there is no run"),
        (vec![of(scripted)], plain.clone(), "/spec/parents/0/run", "recipe `scripted`"),
        (vec![of(unborn)], plain.clone(), "/spec/parents/0/run", "no members yet"),
        (vec![of(orphan)], plain.clone(), "/spec/parents/0/run", "was deleted"),
        (vec![of(pair)], plain.clone(), "/spec/parents/0/member", "name one of solver-0, solver-1"),
        (vec![named(first, "solver-9")], plain.clone(), "/spec/parents/0/member", "valid are solver-0"),
        (vec![of(first), of(first)], plain.clone(), "/spec/parents/1", "another member or run"),
        (vec![of(first), of(wide)], plain.clone(), "/spec/parents/1/run", "r 4, lora_alpha 16"),
        (vec![of(first), of(foreign)], plain.clone(), "/spec/parents/1/run", "its base is another"),
        (
            vec![of(first), of(larger)],
            plain.clone(),
            "/spec/parents/1/run",
            "other settings than the first parent (batch)",
        ),
        (vec![of(first)], json!({"snapshots": [2, 4]}), "/spec/snapshots/1", "1 to 3 is valid"),
        (vec![of(first)], json!({"snapshots": [0]}), "/spec/snapshots/0", "at least 1"),
        (vec![of(first)], json!({"operators": ["M9"]}), "/spec/operators/0", "did you mean"),
        (vec![of(first)], json!({"operators": ["X1"]}), "/spec/operators/0", "takes 2 parents"),
        (vec![of(first)], json!({"steps": 2, "every": 3}), "/spec/every", "1 to 2"),
    ] {
        let reply = writer.post("/api/v1/evaluations", &spec(&parents, &own)).await.expect(422);
        assert_eq!(reply.places(), [place], "{said}: {reply:?}");
        assert!(reply.text().contains(said), "{place}: {reply:?}");
    }
    let member = MemberId::of(second, "solver-0");
    sqlx::query(
        "UPDATE artifacts SET removed_at = now()
         WHERE digest = (SELECT artifact FROM adapter_versions WHERE member_id = $1 AND ordinal = 2)",
    )
    .bind(member.0)
    .execute(server.store.pool())
    .await
    .expect("an update");
    let reply =
        writer.post("/api/v1/evaluations", &spec(&[of(first), of(second)], &json!({"every": 1, "steps": 1}))).await;
    let reply = reply.expect(422);
    assert_eq!(reply.places(), ["/spec/snapshots/0"]);
    assert!(reply.text().contains("after 2 steps are gone; there are those after 1, 3"), "{reply:?}");
    let crossover = json!({"operators": ["X1"]});
    let another = start(json!({"parameters.batch": 1, "seed": 1})).await;
    let reply = writer.post("/api/v1/evaluations", &spec(&[of(single), of(another)], &crossover)).await.expect(422);
    assert_eq!(reply.places(), ["/spec/operators"]);
    for (own, place) in [
        (json!({"parents": []}), "/spec/parents"),
        (json!({"snapshots": []}), "/spec/snapshots"),
        (json!({"steps": 0}), "/spec/steps"),
        (json!({"seeds": 0}), "/spec/seeds"),
    ] {
        let reply = writer.post("/api/v1/evaluations", &spec(&[of(first)], &own)).await.expect(422);
        assert!(reply.places().iter().any(|found| found.starts_with(place)), "{place}: {reply:?}");
    }
    server.stop().await;
}
