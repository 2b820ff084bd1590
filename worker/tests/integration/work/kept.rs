//! What a worker has it does not read again.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};
use lyceum_core::artifact::Digest;
use lyceum_core::id::VersionId;
use lyceum_core::work::{AdapterRef, EvolvePayload, Outcome, Payload, Projection, RolloutResult, WorkKey};
use lyceum_engine::peft::{AdapterConfig, AdapterFiles, CONFIG};
use lyceum_store::Remote;
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::ModelsFolder;
use lyceum_worker::adapter::Shelf;
use lyceum_worker::by_hand::Item;
use lyceum_worker::engine::Engine;
use lyceum_worker::handler::{Artifacts, Handlers};
use lyceum_worker::handlers::{EvolveHandler, RolloutHandler, UpdateHandler};
use uuid::Uuid;

use crate::work::engine::{adapter_folder, fixtures, rollout, update};

/// How often each artifact was read.
type Reads = Arc<Mutex<BTreeMap<String, u32>>>;

/// A server that has these artifacts and counts who reads them.
fn counting(artifacts: BTreeMap<String, Vec<u8>>) -> Result<(Remote, Reads)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let reads = Reads::default();
    let counted = Arc::clone(&reads);
    std::thread::spawn(move || -> Result<()> {
        for stream in listener.incoming() {
            let stream = stream?;
            let mut lines = BufReader::new(&stream).lines();
            let line = lines.next().context("a request")??;
            while !lines.next().context("headers")??.is_empty() {}
            let path = line.split(' ').nth(1).unwrap_or_default();
            let digest = path.rsplit('/').next().unwrap_or_default();
            let (status, bytes) = match artifacts.get(digest) {
                Some(bytes) => ("200 OK", bytes.as_slice()),
                None => ("404 Not Found", &b""[..]),
            };
            if status.starts_with("200") {
                *counted.lock().expect("no panic").entry(digest.to_owned()).or_default() += 1;
            }
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            (&stream).write_all(head.as_bytes())?;
            (&stream).write_all(bytes)?;
        }
        Ok(())
    });
    Ok((Remote::new(&format!("http://{address}"), "token"), reads))
}

async fn done(handlers: &Handlers, artifacts: &Artifacts, payload: Payload) -> Result<Outcome> {
    let item = Item { kind: payload.kind(), key: WorkKey::new(0, "kept"), payload };
    Ok(item.run(handlers, artifacts.clone(), |_, _| {}).await?)
}

async fn rolled_out(handlers: &Handlers, artifacts: &Artifacts, adapters: &[AdapterRef]) -> Result<RolloutResult> {
    match done(handlers, artifacts, Payload::Rollout(rollout(adapters))).await? {
        Outcome::Rollout(result) => Ok(result),
        other => bail!("a result of kind {}", other.kind()),
    }
}

/// Rollouts of two adapters in either order, an update of both, and a birth.
async fn reads(kept: u64) -> Result<Vec<u32>> {
    let mut stored = BTreeMap::new();
    let mut adapters = Vec::new();
    for index in 0..2 {
        let archive = AdapterFiles::read(&adapter_folder(index))?.to_archive()?;
        let artifact = Digest::of(&archive);
        stored.insert(artifact.to_string(), archive);
        adapters.push(AdapterRef { version: VersionId(Uuid::from_u128(index as u128)), artifact, optimizer: None });
    }
    let (server, reads) = counting(stored)?;
    let own = ArtifactStore::in_memory();
    let artifacts = Artifacts {
        read: vec![own.clone(), ArtifactStore::remote(server)],
        write: own,
        adapters: Arc::new(Shelf::new(kept)),
    };
    let models = ModelsFolder::resolve(Some(&fixtures().join("models")));
    let engine = Engine::start(models.clone(), "cpu")?;
    let handlers = Handlers::default()
        .with(RolloutHandler::new(engine.clone()))
        .with(UpdateHandler::new(engine))
        .with(EvolveHandler::new(models));
    let first = rolled_out(&handlers, &artifacts, &adapters).await?;
    let turned = [adapters[1], adapters[0]];
    rolled_out(&handlers, &artifacts, &turned).await?;
    let lesson = update(&adapters, &first, None)?;
    done(&handlers, &artifacts, Payload::Update(lesson)).await?;
    let config = std::fs::read(adapter_folder(0).join(CONFIG))?;
    let config: AdapterConfig = serde_json::from_slice(&config)?;
    let birth = EvolvePayload {
        base_model: rollout(&adapters).base_model,
        lora: config.shape(Projection::ALL.to_vec()).map_err(anyhow::Error::msg)?,
        operator: "X1".to_owned(),
        parameters: BTreeMap::default(),
        parents: adapters.clone(),
        seed: 3,
        to: VersionId(Uuid::from_u128(9)),
        measured: Vec::new(),
    };
    done(&handlers, &artifacts, Payload::Evolve(birth)).await?;
    let reads = reads.lock().expect("no panic");
    let of_adapters = adapters.iter().map(|adapter| reads.get(&adapter.artifact.to_string()).copied());
    Ok(of_adapters.map(Option::unwrap_or_default).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_is_read_from_the_artifact_store_once_whatever_it_is_for() -> Result<()> {
    assert_eq!(reads(1 << 30).await?, [1, 1]);
    assert_eq!(reads(0).await?, [4, 4], "a rollout, another, an update and a birth");
    Ok(())
}
