//! The server's response for an item is enough to run the item by hand, with the same outcome.

use anyhow::{Context as _, Result};
use lyceum_core::id::ExecutionId;
use lyceum_core::work::{Outcome, WorkKind};
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::house::{House, WorkerArguments};
use lyceum_system_tests::lab::Lab;
use lyceum_system_tests::product;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::by_hand::Item;
use lyceum_worker::handler::Artifacts;
use lyceum_worker::handlers::Rows;
use lyceum_worker::recheck::{Counts, Recheck};
use serde_json::{Value, json};
use std::path::Path;
use uuid::Uuid;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");

/// Two steps of two teachers and two students on the bundled model, with an evolution after each.
fn document() -> Value {
    json!({
        "recipe": "populora",
        "seed": 7,
        "steps": 2,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts_per_matchup": 6,
            "samples_per_problem": 2,
            "evolution": {"every": 1},
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
            "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": 5e-4}},
            "archive": {"cells": 64},
        },
    })
}

/// An outcome without its durations.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "seconds" && name != "millis");
            fields.values_mut().for_each(|field| *field = timeless(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}

/// A worker that is not trusted may write any verdict; who judges a sample again finds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_a_worker_made_up_is_found_by_judging_again() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &WorkerArguments::default())?;
    let run = house.begin(1, "script", 1, json!({"items": ["ok"]})).await?;
    house.until_completed(run).await?;
    let task = |id: &str, answer: &str| json!({"id": id, "kind": "solve", "type": "code_o", "program": "def f(x):\n    return x + 1", "input": "1", "answer": answer});
    let payload = json!({"verify": {"tasks": [task("right", "2"), task("wrong", "3"), task("made up", "4")]}});
    let verdict =
        |id: &str, correct: bool| json!({"id": id, "status": "ok", "reason": "", "millis": 1.0, "correct": correct});
    let verdicts = [("right", true), ("wrong", false), ("made up", true)].map(|(id, correct)| verdict(id, correct));
    sqlx::query("UPDATE work SET kind = 'verify', payload = $1, result = $2")
        .bind(payload)
        .bind(json!({"verify": {"verdicts": verdicts}}))
        .execute(house.pool())
        .await?;
    let lab = Lab::open(&house).await?;
    let verifier = tokio::task::spawn_blocking(|| Verifier::start(&VerifierConfig::default())).await??;
    let recheck = Recheck { server: &lab.remote(), verifier: &verifier, at_once: 2, share: 1.0 };
    let mut found = Vec::new();
    let counts = recheck.run(run.0, |difference| found.push(difference)).await?;
    let [difference] = &found[..] else { panic!("one difference, not {found:?}") };
    assert_eq!(difference.stored.id.as_deref(), Some("made up"));
    assert_eq!((difference.stored.correct, difference.here.correct), (Some(true), Some(false)));
    let of_workers: Vec<_> = counts.into_values().collect();
    let expected = Counts { verdicts: 3, judged: 3, different: 1 };
    assert_eq!(of_workers, [expected]);
    lab.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_each_kind_has_the_same_outcome_by_hand() -> Result<()> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let arguments = WorkerArguments { models_folder: Some(models.clone()), ..WorkerArguments::default() };
    let _worker = house.worker(WORKER, &arguments)?;
    let run = house.begin_document(1, &document()).await?;
    house.until_completed(run).await?;

    let lab = Lab::open(&house).await?;
    let row = |number: usize| {
        json!({
            "task_id": format!("gsm8k/{number}"),
            "question": format!("what is 1 + {number}?"),
            "oracle": {"type": "math", "gold": (1 + number).to_string()},
        })
    };
    house.suite("gsm8k", &[row(0), row(1)]).await?;
    let spec = json!({
        "type": "benchmark", "suites": ["gsm8k"], "run": run, "prompts": "completion", "max_tokens": 8,
        "compute": {"threads": 1},
    });
    let evaluation = lab.post("/api/v1/evaluations", &json!({ "spec": spec })).await?;
    let id: Uuid = serde_json::from_value(evaluation["id"].clone())?;
    house.until_completed(ExecutionId(id)).await?;

    let rows = Rows::Remote(lab.remote());
    let handlers = tokio::task::spawn_blocking(move || product::handlers(&models, rows)).await??;
    for kind in WorkKind::ALL {
        let newest = "SELECT id FROM work WHERE kind = $1 AND state = 'done' ORDER BY seq DESC LIMIT 1";
        let id: Option<Uuid> = sqlx::query_scalar(newest).bind(kind.name()).fetch_optional(house.pool()).await?;
        let id = id.with_context(|| format!("the run had no item of kind {kind}"))?;
        let text = lab.json(&format!("/api/v1/work/{id}")).await?;
        let item = Item::from_json(&text)?;
        let shown: Value = serde_json::from_str(&text)?;
        let inputs = item.payload.artifacts().len() + usize::from(kind == WorkKind::Benchmark);
        assert_eq!(shown["inputs"].as_array().map(Vec::len), Some(inputs), "{kind}");
        let artifacts =
            Artifacts { read: vec![ArtifactStore::remote(lab.remote())], ..ArtifactStore::in_memory().into() };
        let outcome = item.run(&handlers, artifacts, |_, _| ()).await?;
        let queued: Outcome = serde_json::from_value(shown["result"].clone())?;
        let timeless = |outcome: &Outcome| Ok::<_, serde_json::Error>(timeless(serde_json::to_value(outcome)?));
        assert_eq!(timeless(&outcome)?, timeless(&queued)?, "{kind}");
    }
    lab.close().await;
    Ok(())
}
