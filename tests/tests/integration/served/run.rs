//! Runs whose tokens a server generates: no version is ever mixed up with another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use lyceum_core::artifact::Digest;
use lyceum_core::id::ExecutionId;
use lyceum_core::work::{AdapterRef, Dtype, Payload, RolloutPayload, RolloutResult};
use lyceum_engine::peft::read_population;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::{Model, Placement};
use lyceum_models::peft::AdapterFiles;
use lyceum_models::token_batch::TokenBatch;
use lyceum_stand_in::{Fault, StandIn};
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::house::{House, registry};
use lyceum_system_tests::product;
use lyceum_worker::ModelsFolder;
use lyceum_worker::handlers::Rows;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use lyceum_worker::sampler::{Served, ServedSettings};
use safetensors::SafeTensors;
use serde_json::{Value, json};

/// A version's log-probabilities and a server's differ by no more than this, in nats.
const ROUNDING: f32 = 1e-3;

pub(crate) fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

/// Two teachers and two students on the bundled model.
pub(crate) fn document(steps: u32, learning_rate: f64) -> Value {
    json!({
        "recipe": "populora",
        "seed": 7,
        "steps": steps,
        "compute": {"threads": 1, "sampler": "served"},
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj", "down_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts_per_matchup": 6,
            "samples_per_problem": 3,
            "evolution": {"every": 2},
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 60}},
            "learning": {"micro_batch_tokens": 4096, "recompute": false, "optimizer": {"learning_rate": learning_rate}},
            "archive": {"cells": 64},
            "items": {"propose": 4, "solve": 4, "update": 2},
        },
        "scheduling": {"max_attempts": 3},
    })
}

/// A house with a coordinator and a worker whose tokens come from servers.
pub(crate) struct Play {
    pub(crate) house: House,
    coordinator: lyceum_system_tests::coordinated::Coordinated,
    runtime: Runtime,
}

impl Play {
    pub(crate) async fn open(servers: Vec<String>) -> Result<Self> {
        Self::open_with(servers, |_| {}).await
    }

    /// With other settings.
    pub(crate) async fn open_with(servers: Vec<String>, change: impl FnOnce(&mut ServedSettings)) -> Result<Self> {
        let house = House::new().await?;
        let coordinator = house.coordinate(registry())?;
        let of_worker = house.store.apart();
        let artifacts = ArtifactStore::folder(&house.artifacts(), of_worker.pool().clone())?;
        let mut settings = ServedSettings {
            servers,
            adapters: house.artifacts().with_file_name("served"),
            // Fewer than the versions of the run.
            kept: 4,
            patience: Duration::from_secs(300),
            ..ServedSettings::default()
        };
        change(&mut settings);
        let served = Served::start(settings, ModelsFolder::resolve(Some(&models())))?;
        let rows = Rows::Stored(of_worker.clone());
        let handlers = tokio::task::spawn_blocking(move || product::handlers_with(&models(), rows, Some(served)));
        let runtime = Runtime::start(&of_worker, artifacts, handlers.await??, RuntimeSettings::default()).await?;
        Ok(Self { house, coordinator, runtime })
    }

    pub(crate) async fn close(self) -> House {
        self.runtime.drain().await;
        self.coordinator.stop().await;
        self.house
    }
}

/// A finished rollout.
struct Rollout {
    step: i32,
    payload: RolloutPayload,
    result: RolloutResult,
}

async fn rollouts(house: &House, run: ExecutionId) -> Result<Vec<Rollout>> {
    let rows: Vec<(i32, Value, Value)> = sqlx::query_as(
        "SELECT step, payload::jsonb, result::jsonb FROM work
         WHERE execution_id = $1 AND kind = 'rollout' AND state = 'done' ORDER BY seq",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let rollouts = rows.into_iter().map(|(step, payload, result)| {
        let payload: Payload = serde_json::from_value(payload)?;
        let outcome: lyceum_core::work::Outcome = serde_json::from_value(result)?;
        Ok(Rollout { step, payload: payload.try_into()?, result: <&RolloutResult>::try_from(&outcome)?.clone() })
    });
    rollouts.collect()
}

/// Sums of differences between told log-probabilities and those of a version.
#[derive(Clone, Copy, Default)]
struct Apart {
    sum: f64,
    largest: f32,
    tokens: usize,
}

/// How far the tokens of rollouts are from each of these versions: for every version that a rollout names, its own and all
/// others.
struct Judge {
    model: Model,
    artifacts: ArtifactStore,
}

impl Judge {
    fn new(house: &House) -> Result<Self> {
        Ok(Self {
            model: Model::load(&models().join("seedling"), Placement::new("cpu", Dtype::Fp32)?)?,
            artifacts: ArtifactStore::folder(&house.artifacts(), house.pool().clone())?,
        })
    }

    async fn folder(&self, artifact: Digest) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        AdapterFiles::from_archive("adapter", &self.artifacts.get(artifact).await?)?.write(folder.path())?;
        Ok(folder)
    }

    /// Whether an adapter computes what the base does, since its `B` factors are zeros: it was just born, or has earned no advantage.
    async fn is_base(&self, artifact: Digest) -> Result<bool> {
        let files = AdapterFiles::from_archive("adapter", &self.artifacts.get(artifact).await?)?;
        let tensors = SafeTensors::deserialize(&files.weights)?;
        let mut factors = tensors.iter().filter(|(name, _)| name.contains("lora_B"));
        Ok(factors.all(|(_, factor)| factor.data().iter().all(|byte| *byte == 0)))
    }

    /// The difference of the samples of `version` in a rollout from the log-probabilities under `judged`.
    async fn apart(&self, rollout: &Rollout, version: AdapterRef, judged: AdapterRef) -> Result<Apart> {
        let tokens = rollout.result.tokens.context("tokens are kept")?;
        let batch = TokenBatch::from_bytes(&self.artifacts.get(tokens).await?)?;
        let folder = self.folder(judged.artifact).await?;
        let folders = [folder.path().to_owned()];
        let population = read_population(&folders, &self.model.config, self.model.placement.device)?;
        let mut apart = Apart::default();
        for request in &rollout.payload.requests {
            let named = request.adapter.map(|place| rollout.payload.adapters[place as usize]);
            if named != Some(version) {
                continue;
            }
            let told = batch.request(&request.id).context("tokens of every request")?;
            let asked: Vec<ScoreRequest> = told
                .samples
                .iter()
                .map(|sample| ScoreRequest {
                    ids: [told.prompt.clone(), sample.ids.clone()].concat(),
                    adapter: Some(0),
                })
                .collect();
            let options = ScoreOptions { tokens_per_pass: 2048, last_logits: false };
            let scores = score(&self.model, Some(&population), &asked, options)?;
            for (sample, score) in told.samples.iter().zip(scores) {
                let own = &score.logprobs[told.prompt.len() - 1..];
                assert_eq!(own.len(), sample.logprobs.len());
                for (own, told) in own.iter().zip(&sample.logprobs) {
                    let difference = (own - told).abs();
                    apart.sum += f64::from(difference);
                    apart.largest = apart.largest.max(difference);
                    apart.tokens += 1;
                }
            }
        }
        Ok(apart)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Versions whose tokens were compared with their own weights and those of other steps.
    pub(crate) versions: usize,
    /// Pairs that no tokens can tell apart, as both compute what the base does.
    pub(crate) bases: usize,
}

/// Every sample was drawn from the version that its item names, and from no other version of the same run.
pub(crate) async fn check_versions(house: &House, run: ExecutionId) -> Result<Compared> {
    let judge = Judge::new(house)?;
    let rollouts = rollouts(house, run).await?;
    let mut by_step: BTreeMap<i32, Vec<AdapterRef>> = BTreeMap::new();
    for rollout in rollouts.iter().filter(|rollout| rollout.result.tokens.is_some()) {
        by_step.entry(rollout.step).or_default().extend(&rollout.payload.adapters);
    }
    let mut compared = Compared::default();
    for rollout in rollouts.iter().filter(|rollout| rollout.result.tokens.is_some()) {
        for version in &rollout.payload.adapters {
            let own = judge.apart(rollout, *version, *version).await?;
            assert!(
                own.tokens > 0 && own.largest < ROUNDING,
                "step {}: the tokens of version {} are {} nats from its log-probabilities",
                rollout.step,
                version.version,
                own.largest
            );
            // The test would see another version: each of another step is far away.
            let others = by_step.iter().filter(|(step, _)| **step != rollout.step);
            let others = others.filter_map(|(_, versions)| versions.first());
            for other in others.filter(|other| other.artifact != version.artifact) {
                if judge.is_base(version.artifact).await? && judge.is_base(other.artifact).await? {
                    compared.bases += 1;
                    continue;
                }
                let apart = judge.apart(rollout, *version, *other).await?;
                assert!(
                    apart.largest > 10.0 * ROUNDING,
                    "versions {} and {} cannot be told apart: {} nats",
                    version.version,
                    other.version,
                    apart.largest
                );
            }
            compared.versions += 1;
        }
    }
    Ok(compared)
}

/// Versions of members that hold other bytes than the one before, and all versions.
pub(crate) async fn changes(house: &House, run: ExecutionId) -> Result<(i64, i64)> {
    Ok(sqlx::query_as(
        "SELECT count(*) FILTER (WHERE before IS NOT NULL AND before <> artifact), count(*) FILTER (WHERE before IS NOT NULL)
         FROM (SELECT artifact, lag(artifact) OVER (PARTITION BY member_id ORDER BY ordinal) AS before
               FROM adapter_versions WHERE run_id = $1) v",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?)
}

/// Adapters are kept for no longer than they are used, the server is restarted in the middle, and yet every token is its
/// version's.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_a_server_never_mixes_versions() -> Result<()> {
    let mut server = StandIn::start(&models().join("seedling")).await?;
    let play = Play::open(vec![server.url()]).await?;
    let run = play.house.begin_document(1, &document(3, 2e-3)).await?;
    let restarting = async {
        // Some twelve proposals and their answers are a step.
        server.until(|seen| seen.completions > 20).await;
        server.kill()?;
        server.restart().await
    };
    let (completed, restarted) = tokio::join!(play.house.until_completed(run), restarting);
    restarted?;
    completed?;
    let house = play.close().await;
    let (changed, all) = changes(&house, run).await?;
    assert!(all >= 2 * 4 && changed == all, "{changed} of {all} versions are new");
    let compared = check_versions(&house, run).await?;
    assert!(compared.versions >= 2 * 4 && compared.bases == 0, "{compared:?}");
    let (reproducible, served): (bool, i64) = sqlx::query_as(
        "SELECT reproducible, (SELECT count(*) FROM work WHERE execution_id = $1 AND sampler = 'served') FROM executions
         WHERE id = $1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    assert!(!reproducible && served > 10, "{reproducible} {served}");
    let seen = server.seen();
    assert!(!seen.unloads.is_empty(), "{seen:?}");
    Ok(())
}

/// What a server that ignores adapters leads to: the run ends with what is wrong, before anything was learned from it.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_other_weights_are_not_learned_from() -> Result<()> {
    let server = StandIn::start(&models().join("seedling")).await?;
    let play = Play::open(vec![server.url()]).await?;
    // At the start all adapters compute the same, so that only the second step can be wrong.
    let run = play.house.begin_document(1, &document(3, 2e-2)).await?;
    server.fail(&[Fault::Stale; 1000]);
    play.house.until_failed(run).await?;
    let house = play.close().await;
    let (step, error): (i32, String) =
        sqlx::query_as("SELECT step, error FROM executions WHERE id = $1").bind(run.0).fetch_one(house.pool()).await?;
    assert_eq!(step, 1, "{error}");
    assert!(error.contains("were not drawn from its version") && error.contains("nats in the mean"), "{error}");
    Ok(())
}
