//! Frozen-side evaluations and regenerations: what is looked up, what is refused, and the pages of both.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::config;
use lyceum_core::id::{AttemptId, ExecutionId, MemberId, VersionId, WorkId};
use lyceum_core::recipe::Registry;
use lyceum_core::work::WorkKey;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixtures::{Filled, filled};
use crate::harness::{Actor, Reply, TestServer};
use crate::outline::{assert_reads_like, attributes};
use crate::views::browser;

/// A run of two finished steps with a pool, a teacher and a student.
async fn played(server: &TestServer) -> Filled {
    let made = filled(server, 4).await;
    let document = json!({
        "recipe": "azr",
        "seed": 7,
        "steps": 3,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["proposer", "solver"], "count": 1}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
        },
    });
    let config = config::resolve(&document, &Registry::shipped()).expect("a config");
    sqlx::query("UPDATE executions SET step = 2, config = $2 WHERE id = $1")
        .bind(made.run.0)
        .bind(serde_json::to_value(config).expect("JSON"))
        .execute(server.store.pool())
        .await
        .expect("a run of two steps");
    let block = json!({"run": made.run, "step": 0, "phase": "propose", "chunk": 0, "samples": 1, "slots": [0]});
    let pools = [json!([]), json!([block])];
    for (step, blocks) in (1..).zip(pools) {
        let state = json!({
            "run": made.run, "step": step, "memory_version": 1,
            "memory": {"experience": {"pool": {"code_o": blocks}}},
        });
        sqlx::query("INSERT INTO run_states (execution_id, step, state) VALUES ($1, $2, $3::text::json)")
            .bind(made.run.0)
            .bind(step)
            .bind(state.to_string())
            .execute(server.store.pool())
            .await
            .expect("a state");
    }
    made
}

async fn asked(writer: &Actor, spec: Value) -> Reply {
    writer.post("/api/v1/evaluations", &json!({ "spec": spec })).await
}

/// The pointer and text of the only fault.
async fn refused(writer: &Actor, spec: Value) -> (String, String) {
    let reply = asked(writer, spec).await.expect(422);
    let errors = reply.json()["errors"].as_array().cloned().expect("faults");
    assert_eq!(errors.len(), 1, "{errors:?}");
    let text = |name: &str| errors[0][name].as_str().expect("text").to_owned();
    (text("pointer"), text("detail"))
}

#[actix_web::test]
async fn versions_are_looked_up_and_what_is_not_there_is_refused_with_its_place() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = played(&server).await;
    let run = made.run;
    let spec = json!({"type": "frozen_side", "run": run, "steps": [0, 1], "problems": 4, "pool_step": 2});
    let made_of = asked(&writer, spec).await.expect(201).json();
    let config: Value = sqlx::query_scalar("SELECT config FROM executions WHERE id = $1")
        .bind(made_of["id"].as_str().and_then(|id| id.parse::<Uuid>().ok()))
        .fetch_one(server.store.pool())
        .await
        .expect("its config");
    let parameters = &config["parameters"];
    assert_eq!(parameters["students"].as_array().map(Vec::len), Some(1), "the weights of both steps are the same");
    assert_eq!(parameters["teachers"][0]["member"], json!(made.teacher));
    assert_eq!(parameters["teachers"][0]["step"], 0);

    let at =
        |moment: Value| json!({"type": "frozen_side", "run": run, "teachers": [moment], "steps": [0], "pool_step": 2});
    for (spec, pointer, words) in [
        (json!({"type": "frozen_side", "run": Uuid::nil(), "steps": [0]}), "/spec/run", "there is no run"),
        (
            json!({"type": "frozen_side", "run": run, "steps": [0, 7], "students": [{"step": 0}], "pool_step": 2}),
            "/spec/steps/1",
            "step 7 is beyond run `filled`, which has finished 2 steps: 0 to 2 is valid",
        ),
        (at(json!({"step": 3})), "/spec/teachers/0/step", "0 to 2 is valid"),
        (at(json!({"step": 0, "member": "teacher-9"})), "/spec/teachers/0/member", "valid are teacher-0"),
        (at(json!({"step": 0, "member": "student-0"})), "/spec/teachers/0/member", "no member `student-0` proposing"),
        (at(json!({"step": 0, "run": Uuid::nil()})), "/spec/teachers/0/run", "there is no run"),
        (
            json!({"type": "frozen_side", "run": run, "teachers": [{"step": 0}], "pool_step": 2}),
            "/spec/students",
            "give `steps`",
        ),
        (
            json!({"type": "frozen_side", "run": run, "steps": [0]}),
            "/spec/pool_step",
            "the pool is empty after 1 steps",
        ),
        (
            json!({"type": "frozen_side", "run": run, "steps": [0], "pool_step": 9}),
            "/spec/pool_step",
            "0 to 2 is valid",
        ),
        (
            json!({"type": "frozen_side", "run": run, "steps": [0], "pool_step": 2, "problems": 1000, "samples": 1000}),
            "/spec/problems",
            "at most 200000",
        ),
        (
            json!({"type": "frozen_side", "run": run, "steps": [0], "problem": 3}),
            "/spec/problem",
            "did you mean `problems`?",
        ),
    ] {
        let (place, detail) = refused(&writer, spec).await;
        assert_eq!(place, pointer, "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn versions_of_another_base_or_shape_and_deleted_weights_are_refused() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (made, other) = (played(&server).await, played(&server).await);
    let spec = json!({
        "type": "frozen_side", "run": made.run, "steps": [0], "pool_step": 2,
        "students": [{"step": 0}, {"step": 0, "run": other.run}],
    });
    let created = asked(&writer, spec.clone()).await.expect(201).json();
    assert_eq!(created["run_id"], json!(made.run));
    for (path, value, words) in [
        ("{populations,main,lora,r}", json!(16), "have another shape (r = 16)"),
        ("{populations,main,base_model,name}", json!("elsewhere"), "is on another base model, elsewhere"),
        ("{recipe}", json!("rlvr"), "is of recipe `rlvr`"),
    ] {
        sqlx::query("UPDATE executions SET config = jsonb_set(config, $2::text[], $3) WHERE id = $1")
            .bind(other.run.0)
            .bind(path)
            .bind(value)
            .execute(server.store.pool())
            .await
            .expect("another config");
        let (place, detail) = refused(&writer, spec.clone()).await;
        assert_eq!(place, "/spec/students/1/run", "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    sqlx::query("UPDATE artifacts SET removed_at = now()").execute(server.store.pool()).await.expect("deleted weights");
    let reply =
        asked(&writer, json!({"type": "frozen_side", "run": made.run, "steps": [0], "pool_step": 2})).await.expect(422);
    assert_eq!(reply.places(), ["/spec/steps/0", "/spec/steps/0"]);
    assert!(reply.text().contains("have been deleted: choose another step"), "{reply:?}");
    server.stop().await;
}

/// A version in a result.
fn version(made: &Filled, member: MemberId, name: &str, step: u32) -> Value {
    let artifact = Digest([0; 32]);
    let adapter = json!({"version": VersionId::of(member, step), "artifact": artifact});
    json!({"run": made.run, "member": member, "name": name, "step": step, "adapter": adapter})
}

#[actix_web::test]
async fn a_matrix_is_a_heat_map_with_its_reading_and_a_table() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = played(&server).await;
    let spec = json!({"type": "frozen_side", "run": made.run, "steps": [0], "pool_step": 2});
    let id = asked(&writer, spec).await.expect(201).json()["id"].as_str().expect("an id").to_owned();
    let page = writer.get(&format!("/evaluations/{id}.json")).await.expect(200).json();
    assert_eq!(page["result"], Value::Null);
    writer.get(&format!("/api/v1/evaluations/{id}/export?format=csv")).await.expect(404);

    let teacher = |step| {
        let mut teacher = version(&made, made.teacher, "teacher-0", step);
        teacher["run_name"] = json!("<b>other</b>");
        for (name, count) in [("proposed", 80), ("valid", 70), ("problems", 64), ("distinct", 60)] {
            teacher[name] = json!(count);
        }
        teacher
    };
    let cell = |teacher: u32, student: u32, rate: f64| {
        json!({"teacher": teacher, "student": student, "attempts": 64, "solved": 32, "solve_rate": rate, "low": rate - 0.1,
            "high": rate + 0.1})
    };
    let trend =
        |low: f64, high: f64| json!({"from": 0, "to": 2, "difference": (low + high) / 2.0, "low": low, "high": high});
    let result = json!({
        "students": [version(&made, made.student, "student-0", 0), version(&made, made.student, "student-0", 2)],
        "teachers": [teacher(0), teacher(2)],
        "cells": [cell(0, 0, 0.4), cell(0, 1, 0.6), cell(1, 0, 0.2), cell(1, 1, 0.3)],
        "along_students": trend(0.1, 0.2),
        "along_teachers": trend(-0.3, -0.2),
    });
    sqlx::query("UPDATE evaluations SET result = $1")
        .bind(&result)
        .execute(server.store.pool())
        .await
        .expect("a result");
    let page = browser(&writer).get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert_reads_like("evaluation.frozen_side", &page);
    assert!(!page.contains("<b>other"), "names are escaped: {page}");
    let shown = writer.get(&format!("/api/v1/evaluations/{id}")).await.expect(200).json();
    assert_eq!(shown["result"]["cells"], result["cells"]);
    let csv = writer.get(&format!("/api/v1/evaluations/{id}/export?format=csv")).await.expect(200);
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let csv = csv.text();
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.starts_with("teacher_run,teacher,teacher_step,student_run,student,student_step,problems,"), "{csv}");
    for page in ["benchmarks", "arms-race"] {
        let html = browser(&writer).get(&format!("/runs/{}/{page}", made.run)).await.expect(200).text();
        let asked = attributes(&html, "data-body");
        assert!(asked.iter().any(|body| body.contains("frozen_side")), "{page}: {asked:?}");
    }
    server.stop().await;
}

/// Gives the run a finished rollout that drew the first attempt; returns the attempt and the rollout's adapter.
async fn drawn(server: &TestServer, made: &Filled) -> (AttemptId, Digest) {
    let key = WorkKey::new(0, "solve");
    let item = WorkId::of(made.run, &key);
    let adapter = server.artifacts.put(ArtifactKind::Adapter, b"drawn".to_vec()).await.expect("an artifact");
    let request = json!({"id": "0", "prompt": {"text": "a \u{0}"}, "adapter": 0, "n": 2, "seed": u64::MAX});
    let payload = json!({"rollout": {
        "base_model": {"name": "seedling"}, "sampling": {}, "requests": [request],
        "adapters": [{"version": VersionId::of(made.student, 0), "artifact": adapter}],
    }});
    let completion = |text: &str| json!({"text": text, "finish_reason": "stop", "tokens": 3, "entropy": 0.5});
    let result = json!({"rollout": {
        "generated": [{"id": "0", "completions": [completion("It is \u{0} 2."), completion("3")]}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 6, "seconds": 0.1},
    }});
    sqlx::query(
        "INSERT INTO work (id, execution_id, step, phase, round, chunk, kind, payload, result, state, max_attempts, finished_at)
         VALUES ($1, $2, 0, 'solve', 0, 0, 'rollout', $3::text::json, $4::text::json, 'done', 1, now())",
    )
    .bind(item.0)
    .bind(made.run.0)
    .bind(payload.to_string())
    .bind(result.to_string())
    .execute(server.store.pool())
    .await
    .expect("a rollout");
    let attempt = AttemptId::of(item, "0", 0);
    sqlx::query("UPDATE attempts SET id = $1 WHERE seq = (SELECT min(seq) FROM attempts WHERE run_id = $2)")
        .bind(attempt.0)
        .bind(made.run.0)
        .execute(server.store.pool())
        .await
        .expect("its attempt");
    (attempt, adapter)
}

#[actix_web::test]
async fn a_sample_is_found_in_the_item_that_drew_it() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = played(&server).await;
    let (attempt, adapter) = drawn(&server, &made).await;
    let problem = made.problems[0];
    let page = format!("/runs/{}/problems/{problem}", made.run);
    let offered = attributes(&browser(&writer).get(&page).await.expect(200).text(), "data-body");
    let body = json!({"spec": {"type": "regenerate", "attempt": attempt}}).to_string();
    assert!(offered.contains(&body), "{offered:?}");

    let made_of = asked(&writer, json!({"type": "regenerate", "attempt": attempt})).await.expect(201).json();
    let id: ExecutionId = made_of["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let parameters: Value = sqlx::query_scalar("SELECT config -> 'parameters' FROM executions WHERE id = $1")
        .bind(id.0)
        .fetch_one(server.store.pool())
        .await
        .expect("its config");
    assert_eq!((&parameters["request"], &parameters["sample"]), (&json!("0"), &json!(0)));
    let payload: Value = serde_json::from_str(parameters["payload"].as_str().expect("text")).expect("JSON");
    assert_eq!(payload["keep_tokens"], true, "log-probabilities are compared");
    assert_eq!(payload["requests"][0]["seed"], json!(u64::MAX));
    let page = writer.get(&format!("/evaluations/{id}.json")).await.expect(200).json();
    assert_eq!(page["result"], Value::Null);

    let sample = |text: &str| json!({"text": text, "finish_reason": "stop", "tokens": 3, "entropy": 0.5});
    let result = json!({
        "run": made.run, "step": 0, "attempt": attempt, "problem": problem, "item": WorkId::of(made.run, &WorkKey::new(0, "solve")),
        "recorded": sample("return <1>"), "again": sample("return 2"), "equal": false,
        "first_difference": {"character": 7, "token": 1}, "logprob_difference": 0.25, "samples": 2, "equal_samples": 1,
    });
    sqlx::query("UPDATE evaluations SET result = $1")
        .bind(&result)
        .execute(server.store.pool())
        .await
        .expect("a result");
    let html = browser(&writer).get(&format!("/evaluations/{id}")).await.expect(200).text();
    assert_reads_like("evaluation.regenerate", &html);
    assert!(!html.contains("<1>"), "samples are escaped: {html}");
    let csv = writer.get(&format!("/api/v1/evaluations/{id}/export")).await.expect(200).text();
    assert!(csv.contains("again,3,stop,0.5,false,return 2"), "{csv}");

    for (spec, pointer, words) in [
        (json!({"type": "regenerate"}), "/spec", "give the id of an `attempt`"),
        (json!({"type": "regenerate", "attempt": attempt, "problem": problem}), "/spec/problem", "give one of the two"),
        (json!({"type": "regenerate", "attempt": Uuid::nil()}), "/spec/attempt", "there is no attempt"),
        (json!({"type": "regenerate", "problem": Uuid::nil()}), "/spec/problem", "there is no problem"),
        (json!({"type": "regenerate", "problem": problem}), "/spec/problem", "was not proposed by a model"),
    ] {
        let (place, detail) = refused(&writer, spec).await;
        assert_eq!(place, pointer, "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    sqlx::query("UPDATE artifacts SET removed_at = now() WHERE digest = $1")
        .bind(adapter.to_string())
        .execute(server.store.pool())
        .await
        .expect("deleted weights");
    let (place, detail) = refused(&writer, json!({"type": "regenerate", "attempt": attempt})).await;
    assert_eq!(place, "/spec/attempt", "{detail}");
    assert!(detail.contains("have been deleted"), "{detail}");
    server.stop().await;
}

#[actix_web::test]
async fn picks_of_two_runs_are_side_by_side() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let (left, right) = (filled(&server, 5).await, filled(&server, 2).await);
    sqlx::query(
        "UPDATE problems SET ast_depth = 10 - index, loc = CASE WHEN index = 4 THEN 40 ELSE 2 END WHERE run_id = $1",
    )
    .bind(left.run.0)
    .execute(server.store.pool())
    .await
    .expect("other complexities");
    let address = format!("/compare/picks?left={}&right={}&steps=0", left.run, right.run);
    let shown = reader.get(&address.replace("/picks?", "/picks.json?")).await.expect(200).json();
    let row = &shown["rows"][0];
    // Of the left run's valid problems 0, 2 and 4 the last is too long; the simpler of two is the median.
    assert_eq!(row["sides"][0]["candidates"], 2, "{shown}");
    assert_eq!(row["sides"][0]["median"]["index"], 2);
    assert_eq!(row["sides"][0]["simplest"]["index"], 2);
    assert_eq!(row["sides"][1]["median"]["index"], 0);
    let median = &row["sides"][0]["median"];
    assert_eq!((&median["ast_depth"], &median["cyclomatic"], &median["loc"]), (&json!(8.0), &json!(1.0), &json!(2.0)));
    assert_reads_like("picks", &browser(&reader).get(&address).await.expect(200).text());
    let with_none = format!("{},9", address.replace("/picks?", "/picks.json?"));
    let shown = reader.get(&with_none).await.expect(200).json();
    assert_eq!(shown["rows"][1]["sides"][0]["median"], Value::Null);
    reader.get("/compare/picks?steps=x").await.expect(400);
    let compare = browser(&reader).get(&format!("/compare?runs={},{}", left.run, right.run)).await.expect(200).text();
    let links = attributes(&compare, "href");
    assert!(links.iter().any(|link| link.starts_with("/compare/picks?left=")), "{links:?}");
    server.stop().await;
}
