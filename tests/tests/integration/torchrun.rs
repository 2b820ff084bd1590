//! A run whose updates are computed by two processes, alongside the same run on the engine: where `TORCHRUN_PYTHON` names an
//! interpreter that has torch (`script/check-torchrun`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lyceum_core::id::ExecutionId;
use lyceum_core::work::{
    MemberDiagnostics, Outcome, Payload, RolloutResult, Trainer, UpdatePayload, UpdateResult, WorkKey, WorkKind,
};
use lyceum_models::peft::AdapterFiles;
use lyceum_models::token_batch::TokenBatch;
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::house::{House, registry};
use lyceum_system_tests::product;
use lyceum_worker::ModelsFolder;
use lyceum_worker::by_hand::Item;
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::{Rows, UpdateHandler};
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use lyceum_worker::trainer::{Torchrun, TorchrunSettings, Trainers};
use serde_json::{Value, json};

const STEPS: u32 = 20;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

/// The demo's population in small: two teachers and two students on the bundled model.
fn document(trainer: Trainer) -> Value {
    json!({
        "recipe": "populora",
        "seed": 7,
        "steps": STEPS,
        "compute": {"threads": 1, "trainer": trainer},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj", "down_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts_per_matchup": 6,
            "samples_per_problem": 3,
            "evolution": {"every": 8},
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
            "learning": {"micro_batch_tokens": 2048, "recompute": false, "optimizer": {"learning_rate": 1e-3}},
            "archive": {"cells": 64},
            "items": {"propose": 8, "solve": 8, "update": 4},
        },
        "scheduling": {"max_attempts": 2},
    })
}

/// A finished update.
struct Done {
    step: i32,
    payload: UpdatePayload,
    result: UpdateResult,
}

async fn updates(house: &House, run: ExecutionId) -> Result<Vec<Done>> {
    let rows: Vec<(i32, Value, Value)> = sqlx::query_as(
        "SELECT step, payload::jsonb, result::jsonb FROM work
         WHERE execution_id = $1 AND kind = 'update' AND state = 'done' ORDER BY step, chunk",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let done = rows.into_iter().map(|(step, mut payload, mut result)| {
        Ok(Done {
            step,
            payload: serde_json::from_value(payload["update"].take())?,
            result: serde_json::from_value(result["update"].take())?,
        })
    });
    done.collect()
}

/// The generated ids of each step, in the order of its items, and the mean reward of its attempts.
async fn played(
    house: &House,
    artifacts: &ArtifactStore,
    run: ExecutionId,
) -> Result<BTreeMap<i32, (Vec<Vec<i64>>, f64)>> {
    let rows: Vec<(i32, Value)> = sqlx::query_as(
        "SELECT step, result::jsonb FROM work
         WHERE execution_id = $1 AND kind = 'rollout' AND state = 'done' ORDER BY step, phase, round, chunk",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let mut steps: BTreeMap<i32, (Vec<Vec<i64>>, f64)> = BTreeMap::new();
    for (step, mut result) in rows {
        let result: RolloutResult = serde_json::from_value(result["rollout"].take())?;
        let Some(tokens) = result.tokens else { continue };
        let batch = TokenBatch::from_bytes(&artifacts.get(tokens).await?)?;
        let samples = batch.requests.into_iter().flat_map(|request| request.samples);
        steps.entry(step).or_default().0.extend(samples.map(|sample| sample.ids));
    }
    let rewards: Vec<(i32, f64)> =
        sqlx::query_as("SELECT step, avg(reward)::float8 FROM attempts WHERE run_id = $1 GROUP BY step")
            .bind(run.0)
            .fetch_all(house.pool())
            .await?;
    for (step, reward) in rewards {
        steps.entry(step).or_default().1 = reward;
    }
    Ok(steps)
}

/// The mean of a number over members.
fn mean(members: &UpdateResult, number: impl Fn(&MemberDiagnostics) -> f64) -> f64 {
    members.members.iter().map(|member| number(&member.diagnostics)).sum::<f64>() / members.members.len() as f64
}

/// How far two results of one item are apart.
#[derive(Default)]
struct Apart {
    weights: f32,
    loss: f64,
    grad_norm: f64,
}

impl Apart {
    async fn between(artifacts: &ArtifactStore, left: &UpdateResult, right: &UpdateResult) -> Result<Self> {
        let mut apart = Self::default();
        for (left, right) in left.members.iter().zip(&right.members) {
            let weights = async |artifact| -> Result<Vec<f32>> {
                let files = AdapterFiles::from_archive("new", &artifacts.get(artifact).await?)?;
                // Both files have the same header, since they are of the same bytes but for the numbers.
                let header = u64::from_le_bytes(files.weights[..8].try_into()?) as usize + 8;
                let (words, _) = files.weights[header..].as_chunks();
                Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
            };
            let (of_left, of_right) = (weights(left.version.artifact).await?, weights(right.version.artifact).await?);
            ensure!(of_left.len() == of_right.len(), "other tensors");
            let differences = of_left.iter().zip(&of_right).map(|(l, r)| (l - r).abs());
            apart.weights = differences.fold(apart.weights, f32::max);
            let (left, right) = (&left.diagnostics, &right.diagnostics);
            apart.loss = apart.loss.max((left.policy_loss - right.policy_loss).abs());
            let relative = (left.grad_norm - right.grad_norm).abs() / right.grad_norm.max(1e-6);
            apart.grad_norm = apart.grad_norm.max(relative);
        }
        Ok(apart)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_steps_beside_the_engine() -> Result<()> {
    let Ok(python) = std::env::var("TORCHRUN_PYTHON") else {
        println!(
            "SKIPPED: TORCHRUN_PYTHON names no interpreter that has torch, transformers, peft and safetensors; see docs/SCALING.md"
        );
        return Ok(());
    };
    let house = House::new().await?;
    let coordinator = house.coordinate(registry())?;
    let of_worker = house.store.apart();
    let artifacts = ArtifactStore::folder(&house.artifacts(), of_worker.pool().clone())?;
    let engine = Engine::start(ModelsFolder::resolve(Some(&models())), "cpu")?;
    let trainers = Trainers {
        engine: Some(engine.clone()),
        torchrun: Some(Torchrun::new(
            TorchrunSettings { python: python.into(), processes: 2, device: "cpu".to_owned() },
            ModelsFolder::resolve(Some(&models())),
        )?),
    };
    let rows = Rows::Stored(of_worker.clone());
    let handlers = tokio::task::spawn_blocking(move || product::handlers(&models(), rows)).await??;
    let handlers = handlers.with(UpdateHandler::new(trainers));
    let runtime = Runtime::start(&of_worker, artifacts.clone(), handlers, RuntimeSettings::default()).await?;
    let mut runs = Vec::new();
    for (id, trainer) in [(1, Trainer::Engine), (2, Trainer::Torchrun)] {
        let run = house.begin_document(id, &document(trainer)).await?;
        tokio::time::timeout(Duration::from_secs(3600), async {
            while let Err(error) = house.until_completed(run).await {
                let state: String = sqlx::query_scalar("SELECT state FROM executions WHERE id = $1")
                    .bind(run.0)
                    .fetch_one(house.pool())
                    .await?;
                ensure!(state == "running", "{error}");
            }
            Ok(())
        })
        .await
        .context("the run takes more than an hour")??;
        runs.push(run);
    }
    runtime.drain().await;
    coordinator.stop().await;
    let reproducible: Vec<bool> =
        sqlx::query_scalar("SELECT reproducible FROM executions ORDER BY id").fetch_all(house.pool()).await?;
    assert_eq!(reproducible, [true, false]);

    let (on_engine, by_group) = (updates(&house, runs[0]).await?, updates(&house, runs[1]).await?);
    let (of_engine, of_group) =
        (played(&house, &artifacts, runs[0]).await?, played(&house, &artifacts, runs[1]).await?);
    assert_eq!((on_engine.len(), by_group.len()), (STEPS as usize, STEPS as usize));
    // Each item of the group's run once more, on the engine: both learn from the same.
    let again = Handlers::default().with(UpdateHandler::new(engine));
    let mut largest = Apart::default();
    println!("step | equal samples | reward | loss | gradient norm | same item: weights, loss, gradient norm apart");
    for (on_engine, by_group) in on_engine.iter().zip(&by_group) {
        let mut payload = by_group.payload.clone();
        payload.compute.trainer = Trainer::Engine;
        let item = Item {
            kind: WorkKind::Update,
            key: WorkKey::new(by_group.step.cast_unsigned(), "update"),
            payload: Payload::Update(payload),
        };
        let Outcome::Update(expected) = item.run(&again, artifacts.clone().into(), |_, _| {}).await? else {
            panic!("a result of another kind")
        };
        let apart = Apart::between(&artifacts, &by_group.result, &expected).await?;
        let (left, right) = (&of_engine[&on_engine.step], &of_group[&by_group.step]);
        let equal = left.0.iter().zip(&right.0).filter(|(left, right)| left == right).count();
        println!(
            "{} | {equal} of {} | {:.3} {:.3} | {:+.4} {:+.4} | {:.3} {:.3} | {:.1e} {:.1e} {:.1e}",
            by_group.step,
            left.0.len(),
            left.1,
            right.1,
            mean(&on_engine.result, |of| of.policy_loss),
            mean(&by_group.result, |of| of.policy_loss),
            mean(&on_engine.result, |of| of.grad_norm),
            mean(&by_group.result, |of| of.grad_norm),
            apart.weights,
            apart.loss,
            apart.grad_norm,
        );
        largest = Apart {
            weights: largest.weights.max(apart.weights),
            loss: largest.loss.max(apart.loss),
            grad_norm: largest.grad_norm.max(apart.grad_norm),
        };
    }
    println!(
        "the same item: weights at most {:.1e} apart, losses {:.1e}, gradient norms {:.1e} of the engine's",
        largest.weights, largest.loss, largest.grad_norm
    );
    ensure!(
        largest.weights < 1e-4 && largest.loss < 1e-4 && largest.grad_norm < 1e-3,
        "the group's updates are not the engine's"
    );
    Ok(())
}
