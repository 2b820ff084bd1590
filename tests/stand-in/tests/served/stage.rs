//! Items without queue and database, on the engine and on servers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::VersionId;
use lyceum_core::work::{
    AdapterRef, BaseModel, Compute, Outcome, Prompt, RolloutPayload, RolloutRequest, RolloutResult, Sampler, Sampling,
    WorkKey, WorkKind,
};
use lyceum_models::peft::AdapterFiles;
use lyceum_models::token_batch::TokenBatch;
use lyceum_stand_in::StandIn;
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::ModelsFolder;
use lyceum_worker::by_hand::Item;
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::RolloutHandler;
use lyceum_worker::sampler::{Samplers, Served, ServedSettings};
use tempfile::TempDir;
use uuid::Uuid;

/// The base of these tests.
pub(crate) const BASE: &str = "qwen2-tied";

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/engine/tests/fixtures")
}

/// Artifacts and the folder of adapters.
pub(crate) struct Stage {
    pub(crate) artifacts: ArtifactStore,
    pub(crate) folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { artifacts: ArtifactStore::in_memory(), folder: tempfile::tempdir()? })
    }

    /// A server of the base.
    pub(crate) async fn server(&self) -> Result<StandIn> {
        StandIn::start(&fixtures().join("models").join(BASE)).await
    }

    /// Three adapters.
    pub(crate) async fn adapters(&self) -> Result<Vec<AdapterRef>> {
        let mut adapters = Vec::new();
        for index in 0..3 {
            let folder = fixtures().join("adapters").join(BASE).join(format!("all-{index}"));
            let archive = AdapterFiles::read(&folder)?.to_archive()?;
            adapters.push(AdapterRef {
                version: VersionId(Uuid::from_u128(index)),
                artifact: self.artifacts.put(ArtifactKind::Adapter, archive).await?,
                optimizer: None,
            });
        }
        Ok(adapters)
    }

    /// What the engine makes of items.
    pub(crate) fn engine(&self) -> Result<Handlers> {
        let models = ModelsFolder::resolve(Some(&fixtures().join("models")));
        Ok(Handlers::default().with(RolloutHandler::new(Engine::start(models, "cpu")?)))
    }

    /// What servers make of them, with these settings.
    pub(crate) fn served(&self, servers: &[&StandIn], change: impl FnOnce(&mut ServedSettings)) -> Result<Handlers> {
        let mut settings = ServedSettings {
            servers: servers.iter().map(|server| server.url()).collect(),
            adapters: self.folder.path().join("adapters"),
            patience: Duration::from_secs(60),
            ..ServedSettings::default()
        };
        change(&mut settings);
        let models = ModelsFolder::resolve(Some(&fixtures().join("models")));
        let samplers = Samplers { served: Some(Served::start(settings, models)?), ..Samplers::default() };
        Ok(Handlers::default().with(RolloutHandler::new(samplers)))
    }

    /// Runs an item.
    pub(crate) async fn run(&self, handlers: &Handlers, payload: RolloutPayload) -> Result<RolloutResult> {
        let item = Item { kind: WorkKind::Rollout, key: WorkKey::new(0, "solve"), payload: payload.into() };
        match item.run(handlers, self.artifacts.clone().into(), |_, _| {}).await? {
            Outcome::Rollout(result) => Ok(result),
            other => bail!("a result of kind {}", other.kind()),
        }
    }

    /// Why an item fails.
    pub(crate) async fn failure(&self, handlers: &Handlers, payload: RolloutPayload) -> String {
        match self.run(handlers, payload).await {
            Ok(_) => panic!("the item did not fail"),
            Err(error) => format!("{error:#}"),
        }
    }

    pub(crate) async fn tokens(&self, result: &RolloutResult) -> Result<TokenBatch> {
        let Some(digest) = result.tokens else { bail!("tokens were to be kept") };
        Ok(TokenBatch::from_bytes(&self.artifacts.get(digest).await?)?)
    }
}

/// Two prompts for each adapter and for the base without an adapter, sampled three times each, by `sampler`.
pub(crate) fn payload(adapters: &[AdapterRef], sampler: Sampler) -> RolloutPayload {
    let members = (0..adapters.len() as u32).map(Some).chain([None]);
    let prompts: [&[u32]; 2] = [&[1, 2, 3], &[40, 50, 60, 70]];
    let asked = members.flat_map(|adapter| prompts.into_iter().map(move |prompt| (adapter, prompt)));
    let requests = asked.enumerate().map(|(number, (adapter, prompt))| RolloutRequest {
        adapter,
        ..RolloutRequest::new(number.to_string(), Prompt::Ids(prompt.to_vec()), 3, 7 + number as u64)
    });
    RolloutPayload {
        adapters: adapters.to_vec(),
        requests: requests.collect(),
        keep_tokens: true,
        ..RolloutPayload::new(
            BaseModel { name: BASE.to_owned(), revision: None },
            Compute { threads: Some(1), sampler, ..Compute::default() },
            Sampling { max_tokens: 12, ..Sampling::default() },
        )
    }
}

/// The ids of all samples in order.
pub(crate) fn ids(tokens: &TokenBatch) -> Vec<Vec<i64>> {
    let samples = tokens.requests.iter().flat_map(|request| &request.samples);
    samples.map(|sample| sample.ids.clone()).collect()
}

/// The greatest difference between the log-probabilities of two batches of the same tokens.
pub(crate) fn difference(one: &TokenBatch, other: &TokenBatch) -> f32 {
    let logprobs = |batch: &TokenBatch| -> Vec<f32> {
        let samples = batch.requests.iter().flat_map(|request| &request.samples);
        samples.flat_map(|sample| sample.logprobs.clone()).collect()
    };
    let (one, other) = (logprobs(one), logprobs(other));
    assert_eq!(one.len(), other.len());
    one.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
