//! Versions of several steps against each other, and samples generated again, with the real engine and sandbox.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::{AttemptId, ExecutionId, WorkId};
use lyceum_core::recipe::FrozenSideResult;
use lyceum_system_tests::house::{House, WorkerArguments, until};
use lyceum_system_tests::lab::Lab;
use lyceum_system_tests::process::Process;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use uuid::Uuid;

fn document(recipe: &str, members: Value, own: Value) -> Value {
    let mut parameters = json!({
        "prompts": {"set": "seedling"},
        "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
        "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
        "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": 1e-2}},
        "archive": {"cells": 64},
    });
    if let (Some(all), Some(own)) = (parameters.as_object_mut(), own.as_object()) {
        all.extend(own.clone());
    }
    json!({
        "recipe": recipe,
        "seed": 7,
        "steps": 2,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj"]},
            "members": members,
        }},
        "parameters": parameters,
        "scheduling": {"max_attempts": 100},
    })
}

/// Two teachers and two students.
fn populora() -> Value {
    document(
        "populora",
        json!([{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}]),
        json!({
            "prompts_per_matchup": 6, "proposals_per_prompt": 1, "samples_per_problem": 4,
            "items": {"propose": 6, "solve": 3, "update": 2},
        }),
    )
}

/// One member in both roles.
fn azr() -> Value {
    document(
        "azr",
        json!([{"roles": ["proposer", "solver"], "count": 1}]),
        json!({"batch": 4, "difficulty_samples": 2}),
    )
}

fn worker(house: &House) -> Result<Process> {
    let arguments = WorkerArguments {
        models_folder: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")),
        ..WorkerArguments::default()
    };
    house.worker(env!("CARGO_BIN_EXE_scripted-worker"), &arguments)
}

async fn begin(lab: &Lab, spec: &Value) -> Result<ExecutionId> {
    let made = lab.post("/api/v1/evaluations", &json!({"spec": spec, "seed": 3})).await?;
    Ok(made["id"].as_str().context("an id")?.parse()?)
}

/// The result of an evaluation, once it is over.
async fn result(lab: &Lab, id: ExecutionId) -> Result<Value> {
    until("the evaluation is over", || async {
        let mut evaluation = lab.get(&format!("/api/v1/evaluations/{id}")).await?;
        ensure!(evaluation["state"] != "failed", "{evaluation}");
        Ok((evaluation["state"] == "completed").then(|| evaluation["result"].take()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_is_filled_whatever_is_killed_and_changes_nothing_of_the_run() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    let mut running = worker(&house)?;
    let run = house.begin_document(1, &populora()).await?;
    house.until_completed(run).await?;
    let before = house.remains(run).await?;
    let lab = Lab::open(&house).await?;
    let page = lab.page(&format!("/runs/{run}/arms-race")).await?;
    ensure!(page.contains("data-action=\"/api/v1/evaluations\""), "no button: {page}");

    let spec = json!({"type": "frozen_side", "run": run, "steps": [0, 1, 2], "problems": 6, "samples": 2});
    let calm = result(&lab, begin(&lab, &spec).await?).await?;
    let disturbed = begin(&lab, &spec).await?;
    for ends in [1, 3] {
        until("items of the evaluation have ended", || async {
            let ended: Option<i32> =
                sqlx::query_scalar("SELECT ended FROM steps WHERE execution_id = $1 AND ended >= $2")
                    .bind(disturbed.0)
                    .bind(ends)
                    .fetch_optional(house.pool())
                    .await?;
            Ok(ended)
        })
        .await?;
        running.kill()?;
        house.bury().await?;
        running = worker(&house)?;
    }
    assert_eq!(result(&lab, disturbed).await?, calm, "whoever was killed");

    let page = lab.get(&format!("/evaluations/{disturbed}.json")).await?;
    assert_eq!(page["result"], calm, "{page}");
    let matrix: FrozenSideResult = serde_json::from_value(calm)?;
    assert_eq!((matrix.students.len(), matrix.teachers.len()), (6, 6), "two members a side at three steps");
    assert_eq!(matrix.cells.len(), 36);
    for cell in &matrix.cells {
        let problems = matrix.teachers[cell.teacher as usize].problems;
        assert_eq!(cell.attempts, u64::from(problems) * 2);
    }
    ensure!(matrix.teachers.iter().all(|teacher| teacher.problems > 0), "{:?}", matrix.teachers);
    ensure!(matrix.along_students.is_some() && matrix.along_teachers.is_some());
    assert_eq!(before, house.remains(run).await?, "the run is unchanged");
    lab.close().await;
    drop(running);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_member_is_both_sides_and_its_samples_come_again() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(env!("CARGO_BIN_EXE_scripted-server"))?;
    let running = worker(&house)?;
    let run = house.begin_document(1, &azr()).await?;
    house.until_completed(run).await?;
    let lab = Lab::open(&house).await?;
    let spec = json!({"type": "frozen_side", "run": run, "steps": [0, 2], "problems": 4});
    let matrix: FrozenSideResult = serde_json::from_value(result(&lab, begin(&lab, &spec).await?).await?)?;
    assert_eq!((matrix.students.len(), matrix.teachers.len()), (2, 2));
    let members: BTreeSet<_> = matrix.students.iter().map(|student| student.member).collect();
    assert!(matrix.teachers.iter().all(|teacher| members.contains(&teacher.version.member)));
    assert_eq!(members.len(), 1, "one member is both");

    // What is learned from has its log-probabilities recorded.
    let item: Uuid = sqlx::query_scalar(
        "SELECT id FROM work WHERE execution_id = $1 AND step = 1 AND phase = 'practise' ORDER BY chunk LIMIT 1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    let attempt = attempt_of(&house, run, item).await?;
    let problem: Uuid = sqlx::query_scalar(
        "SELECT id FROM problems WHERE run_id = $1 AND step = 1 AND proposer_id IS NOT NULL ORDER BY index DESC LIMIT 1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    for (kind, id) in [("attempt", attempt), ("problem", problem)] {
        let evaluation = begin(&lab, &json!({"type": "regenerate", (kind): id})).await?;
        let found = result(&lab, evaluation).await?;
        assert_eq!(found["equal"], true, "{found}");
        assert_eq!(found["logprob_difference"], 0.0, "{found}");
        assert_eq!(found["equal_samples"], found["samples"], "{found}");
        assert_eq!(found["recorded"], found["again"]);
        let table = if kind == "attempt" { "SELECT text FROM attempts" } else { "SELECT proposal FROM problems" };
        let text: String = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("{table} WHERE id = $1")))
            .bind(id)
            .fetch_one(house.pool())
            .await?;
        assert_eq!(found["recorded"]["text"], json!(text), "it is the sample that was asked for");
    }

    // Other seeds draw other samples, and the page says so.
    sqlx::query("UPDATE work SET payload = regexp_replace(payload::text, '\"seed\":[0-9]+', '\"seed\":1', 'g')::json WHERE id = $1")
        .bind(item)
        .execute(house.pool())
        .await?;
    let evaluation = begin(&lab, &json!({"type": "regenerate", "attempt": attempt})).await?;
    let found = result(&lab, evaluation).await?;
    assert_eq!(found["item"], json!(item));
    ensure!(found["equal_samples"].as_u64() < found["samples"].as_u64(), "{found}");
    assert_eq!(found["equal"] == true, found["recorded"] == found["again"], "{found}");
    let page = lab.get(&format!("/evaluations/{evaluation}.json")).await?;
    assert_eq!(page["result"], found, "{page}");
    lab.close().await;
    drop(running);
    Ok(())
}

/// An attempt that an item of the run drew.
async fn attempt_of(house: &House, run: ExecutionId, item: Uuid) -> Result<Uuid> {
    let payload: String =
        sqlx::query_scalar("SELECT payload::text FROM work WHERE id = $1").bind(item).fetch_one(house.pool()).await?;
    let payload: Value = serde_json::from_str(&payload)?;
    let request = payload["rollout"]["requests"][0]["id"].as_str().context("a request")?;
    let attempt = AttemptId::of(WorkId(item), request, 0);
    let found: Uuid = sqlx::query_scalar("SELECT id FROM attempts WHERE run_id = $1 AND id = $2")
        .bind(run.0)
        .bind(attempt.0)
        .fetch_one(house.pool())
        .await?;
    Ok(found)
}
