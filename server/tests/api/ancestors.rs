//! Members that begin with a version of another run: what is looked up, what is refused, what is kept, and the lineage.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::id::{ExecutionId, MemberId, PopulationId, VersionId};
use lyceum_core::recipe::{BirthRecord, MemberRecord, Plan, Records, Role, VersionRecord};
use lyceum_core::work::WorkKey;
use lyceum_store::tokens::Scope;
use lyceum_store::{artifact, plan};
use serde_json::{Value, json};

use crate::fixtures::{Filled, population_record, records};
use crate::harness::{Actor, TestServer, config};
use crate::rows_asked::{body, imported};
use crate::views::browser;

/// A run of a population whose student begins with `from`.
pub(crate) fn request(from: &Value, lora: &Value) -> Value {
    let mut config = config();
    config["populations"]["main"]["lora"] = lora.clone();
    config["populations"]["main"]["members"][1]["from"] = from.clone();
    json!({"config": config, "name": "descendant"})
}

/// The shape of the first run's adapters.
fn lora(r: u32) -> Value {
    json!({"r": r, "lora_alpha": 16.0, "target_modules": ["q_proj"]})
}

pub(crate) fn id_of(made: &Value) -> ExecutionId {
    ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"))
}

/// The faults of a refused request, as pointer and detail.
pub(crate) async fn faults(writer: &Actor, path: &str, body: &Value) -> Vec<(String, String)> {
    let reply = writer.post(path, body).await.expect(422).json();
    let errors = reply["errors"].as_array().expect("errors").clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let fault = |error: &Value| (text(&error["pointer"]), text(&error["detail"]));
    errors.iter().map(fault).collect()
}

/// Ends a step of `run` with these records.
async fn step(server: &TestServer, run: ExecutionId, records: Records) {
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
    let plan = Plan { records, finish: Some(locked.state.next("", &json!({})).expect("a state")), ..Plan::default() };
    plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
    tx.commit().await.expect("a commit");
}

/// The birth of a student that begins with `parent`, whose weights are `artifact`, as recipes plan it.
pub(crate) async fn born(server: &TestServer, run: ExecutionId, parent: VersionId, artifact: Digest) -> MemberId {
    let (population, student) = (PopulationId::of(run, "main"), MemberId::of(run, "student-0"));
    let records = Records {
        populations: vec![population_record(population)],
        members: vec![MemberRecord {
            id: student,
            population,
            name: "student-0".to_owned(),
            roles: vec![Role::Student],
        }],
        versions: vec![VersionRecord {
            id: VersionId::of(student, 0),
            member: student,
            ordinal: 0,
            artifact,
            optimizer: None,
            learning_rate: None,
        }],
        births: vec![BirthRecord {
            child: student,
            source: WorkKey::new(0, "birth"),
            operator: "copy_parent".to_owned(),
            parameters: json!({}),
            seed: 1,
            parents: vec![parent],
            replaces: None,
            notes: vec![],
        }],
        ..Records::default()
    };
    step(server, run, records).await;
    student
}

/// The weights of the first run, which fit the seedling no more than any other bytes.
fn weights() -> Digest {
    Digest::of(b"weights")
}

/// A run called `first` that has done a step, with the version of its student.
async fn ancestor(server: &TestServer) -> (Filled, VersionId) {
    let writer = server.actor(Scope::Write).await;
    let asked = json!({"config": config(), "name": "first"});
    let run = id_of(&writer.post("/api/v1/runs", &asked).await.expect(201).json());
    let stored = server.artifacts.put(ArtifactKind::Adapter, b"weights".to_vec());
    let (records, made) = records(run, stored.await.expect("an artifact"), 1);
    step(server, run, records).await;
    let version = VersionId::of(made.student, 0);
    (made, version)
}

#[actix_web::test]
async fn a_version_is_named_by_its_id_or_by_run_member_and_step_and_looked_up_once() {
    let server = TestServer::start().await;
    let (made, version) = ancestor(&server).await;
    let writer = server.actor(Scope::Write).await;
    for named in [
        version.to_string(),
        "first/student-0".to_owned(),
        "first/student-0@1".to_owned(),
        format!("{}/student-0@1", made.run),
    ] {
        let asked = request(&json!({ "version": named }), &lora(8));
        let run = writer.post("/api/v1/runs", &asked).await.expect(201).json();
        let from = &run["config"]["populations"]["main"]["members"][1]["from"];
        assert_eq!(*from, json!({"version": version, "artifact": weights()}), "{named}");
        let again = json!({"config": run["config"], "name": "again"});
        let again = writer.post("/api/v1/runs?dry_run=true", &again).await.expect(200).json();
        assert_eq!(again["config"], run["config"], "a copy begins with the same");
    }
    let overrides = json!({
        "preset": "small",
        "overrides": {
            "populations.main.lora": lora(8),
            "populations.main.members.1.from.version": "first/student-0",
        },
    });
    let path = "/api/v1/runs?dry_run=true";
    let made = writer.post(path, &overrides).await.expect(200).json();
    assert_eq!(made["config"]["populations"]["main"]["members"][1]["from"]["version"], json!(version));
    server.stop().await;
}

#[actix_web::test]
async fn a_version_that_is_unknown_or_does_not_fit_is_refused_where_it_is_named() {
    let server = TestServer::start().await;
    let (made, version) = ancestor(&server).await;
    let writer = server.actor(Scope::Write).await;
    let of = |named: &str| json!({ "version": named });
    let own = version.to_string();
    let zeros = "0".repeat(64);
    for (from, r, field, says) in [
        (of(&made.run.to_string()), 8, "/version", "there is no version"),
        (of("student-0"), 8, "/version", "RUN/MEMBER@STEP"),
        (of("nobody/student-0"), 8, "/version", "there is no run `nobody`"),
        (of("first/pupil"), 8, "/version", "no member `pupil`; its living members are teacher-0, student-0"),
        (of("first/student-0@2"), 8, "/version", "0 to 1 are valid"),
        (of("first/student-0@soon"), 8, "/version", "`@soon`"),
        (of("first/student-0@0"), 8, "/version", "no weights yet after 0 steps"),
        (of(&own), 4, "/version", "r 8, lora_alpha 16, q_proj, and this population has r 4"),
        (json!({"version": own, "artifact": zeros}), 8, "/artifact", "leave it out"),
        (json!({"version": own, "adapter": "x"}), 8, "", "exactly one"),
        (json!({"artifact": zeros}), 8, "", "exactly one"),
    ] {
        let found = faults(&writer, "/api/v1/runs", &request(&from, &lora(r))).await;
        let [(at, detail)] = found.as_slice() else {
            panic!("{from}: {found:?}");
        };
        assert_eq!(at, &format!("/config/populations/main/members/1/from{field}"));
        assert!(detail.contains(says), "{detail}");
    }
    let mut other_base = request(&of(&own), &lora(8));
    other_base["config"]["populations"]["main"]["base_model"]["name"] = json!("seedling-math");
    let found = faults(&writer, "/api/v1/runs", &other_base).await;
    assert!(found[0].1.contains("was trained on `seedling`"), "{found:?}");

    let twin = json!({"config": config(), "name": "first"});
    let twin = id_of(&writer.post("/api/v1/runs", &twin).await.expect(201).json());
    let found = faults(&writer, "/api/v1/runs", &request(&of("first/student-0"), &lora(8))).await;
    for id in [made.run, twin] {
        assert!(found[0].1.contains(&id.to_string()), "{found:?}");
    }
    sqlx::query("UPDATE artifacts SET removed_at = now()").execute(server.store.pool()).await.expect("a removal");
    let found = faults(&writer, "/api/v1/runs", &request(&of(&own), &lora(8))).await;
    assert!(found[0].1.contains("have been deleted"), "{found:?}");
    server.stop().await;
}

#[actix_web::test]
async fn weights_and_lineage_outlive_the_run_that_they_come_from() {
    let server = TestServer::start().await;
    let (made, version) = ancestor(&server).await;
    let writer = server.actor(Scope::Write).await;
    let asked = request(&json!({ "version": version }), &lora(8));
    let begin = async || id_of(&writer.post("/api/v1/runs", &asked).await.expect(201).json());
    let (early, late) = (begin().await, begin().await);
    let student = born(&server, early, version, weights()).await;
    let births = async |run: ExecutionId| {
        let births = writer.get(&format!("/api/v1/runs/{run}/lineage")).await.expect(200).json();
        births["items"][0].clone()
    };
    let birth = births(early).await;
    assert_eq!((&birth["ancestor"], &birth["operator"]), (&json!("first/student-0 v0"), &json!("copy_parent")));
    assert_eq!(
        (&birth["parents"][0]["run_id"], &birth["parents"][0]["version_id"]),
        (&json!(made.run), &json!(version))
    );
    let address = format!("/runs/{}/members/{}", made.run, made.student);
    let pages = [
        format!("/runs/{early}/members/{student}"),
        format!("/runs/{early}/population"),
        format!("/runs/{early}/lineage"),
    ];
    let shown = async |page: &str| browser(&writer).get(page).await.expect(200).text();
    for page in &pages {
        let html = shown(page).await;
        assert!(html.contains(&address) && html.contains("first/student-0 v0"), "{page}");
    }

    writer.act(&format!("/api/v1/runs/{}/cancel", made.run)).await.expect(202);
    writer.delete(&format!("/api/v1/runs/{}", made.run)).await.expect(204);
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '1 day'")
        .execute(server.store.pool())
        .await
        .expect("a day");
    assert_eq!(artifact::collect(&server.artifacts, 100).await.expect("a collection"), 0);
    let birth = births(early).await;
    assert_eq!((&birth["ancestor"], &birth["parents"]), (&json!("first/student-0 v0"), &json!([])));
    for page in &pages {
        let html = shown(page).await;
        assert!(!html.contains(&address) && html.contains("first/student-0 v0"), "{page}");
    }
    // Its first step is planned when the ancestor is gone.
    born(&server, late, version, weights()).await;
    assert_eq!(births(late).await["ancestor"], json!(version));

    let fork = |step: u32, overrides: Value| json!({"step": step, "overrides": overrides});
    let path = format!("/api/v1/runs/{early}/fork");
    for step in [0, 1] {
        let forked = writer.post(&path, &fork(step, json!({}))).await.expect(201).json();
        let from = &forked["config"]["populations"]["main"]["members"][1]["from"];
        assert_eq!(*from, json!({"version": version, "artifact": weights()}), "{step}");
    }
    let other = json!({"populations.main.members.1.from": {"version": VersionId::of(student, 0)}});
    let found = faults(&writer, &path, &fork(1, other.clone())).await;
    assert!(found[0].1.contains("only one before step 0 can change it"), "{found:?}");
    writer.post(&path, &fork(0, other)).await.expect(201);
    let found = faults(&writer, "/api/v1/runs", &asked).await;
    assert!(found[0].1.contains("there is no version"), "{found:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_judge_has_the_weights_of_any_version_of_its_base_and_its_run_keeps_them() {
    let server = TestServer::start().await;
    let (made, version) = ancestor(&server).await;
    let writer = server.actor(Scope::Write).await;
    let row = |number: u32| json!({"task_id": format!("sum/{number}"), "question": format!("{number} + 1?"), "oracle": {"type": "math", "gold": "1"}});
    let sums = imported(&writer, "sums", &json!([row(1), row(2), row(3), row(4)])).await;
    let asked = |from: Value| body(sums, 4, &json!({"reward": {"judge": {"from": from}}}));
    let at = "/config/parameters/reward/judge/from";
    let mut other_base = asked(json!({ "version": version }));
    other_base["config"]["populations"]["main"]["base_model"]["name"] = json!("seedling-math");
    for (asked, field, says) in [
        (asked(json!({"adapter": "none"})), "/adapter", "lyceum adapter list"),
        (asked(json!({"version": "first/pupil"})), "/version", "no member `pupil`"),
        (asked(json!({})), "", "exactly one"),
        (other_base, "/version", "was trained on `seedling`"),
    ] {
        let found = faults(&writer, "/api/v1/runs", &asked).await;
        assert!(found[0].0 == format!("{at}{field}") && found[0].1.contains(says), "{found:?}");
    }
    let mut wide = asked(json!({"version": "first/student-0@1"}));
    wide["config"]["populations"]["main"]["lora"] = lora(16);
    let run = writer.post("/api/v1/runs", &wide).await.expect(201).json();
    let settled = json!({"version": version, "artifact": weights()});
    assert_eq!(run["config"]["parameters"]["reward"]["judge"]["from"], settled);
    let plain = id_of(&writer.post("/api/v1/runs", &body(sums, 4, &json!({}))).await.expect(201).json());
    let path = |run: ExecutionId| format!("/api/v1/runs/{run}/fork");
    let fork = json!({"step": 0, "overrides": {"parameters.reward.judge.from.version": version}});
    let forked = writer.post(&path(plain), &fork).await.expect(201).json();
    assert_eq!(forked["config"]["parameters"]["reward"]["judge"]["from"], settled);

    for end in ["cancel", ""] {
        let path = format!("/api/v1/runs/{}", made.run);
        match end {
            "" => writer.delete(&path).await.expect(204),
            end => writer.act(&format!("{path}/{end}")).await.expect(202),
        };
    }
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '1 day'")
        .execute(server.store.pool())
        .await
        .expect("a day");
    let kept = async || artifact::collect(&server.artifacts, 100).await.expect("a collection");
    assert_eq!(kept().await, 0);
    writer.act(&format!("/api/v1/runs/{}/cancel", id_of(&run))).await.expect(202);
    writer.delete(&format!("/api/v1/runs/{}", id_of(&run))).await.expect(204);
    assert_eq!(kept().await, 0, "the fork keeps them");
    let again = json!({"step": 0, "overrides": {}});
    let again = writer.post(&path(id_of(&forked)), &again).await.expect(201).json();
    assert_eq!(again["config"]["parameters"]["reward"]["judge"]["from"], settled, "as they were looked up");
    server.stop().await;
}
