//! Runs updates by hand as a worker does, with artifacts in a bucket and a group of processes as the trainer, and prints its
//! own peak memory after each.

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use lyceum_core::work::{Outcome, WorkKind};
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use lyceum_worker::ModelsFolder;
use lyceum_worker::by_hand::Item;
use lyceum_worker::handler::{Artifacts, Handlers};
use lyceum_worker::handlers::UpdateHandler;
use lyceum_worker::trainer::{Torchrun, TorchrunSettings};
use serde_json::json;
use std::path::PathBuf;

#[derive(Parser)]
struct Arguments {
    /// The items, in this order.
    #[arg(required = true)]
    items: Vec<PathBuf>,
    #[arg(long)]
    artifacts: ArtifactPlace,
    #[arg(long)]
    models: PathBuf,
    #[arg(long)]
    python: PathBuf,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_env_filter("error").with_writer(std::io::stderr).init();
    let store = ArtifactStore::unlisted(&arguments.artifacts).await?;
    let settings = TorchrunSettings { python: arguments.python, processes: 1, device: "cpu".to_owned() };
    let trainer = Torchrun::new(settings, ModelsFolder::resolve(Some(&arguments.models)))?;
    let handlers = Handlers::default().with(UpdateHandler::new(trainer));
    let artifacts = Artifacts::keeping(store, 4 << 30);
    for path in arguments.items {
        let item = Item::from_json(&std::fs::read_to_string(path)?)?;
        ensure!(item.kind == WorkKind::Update, "an item of kind {}", item.kind);
        let Outcome::Update(result) = item.run(&handlers, artifacts.clone(), |_, _| {}).await? else {
            unreachable!("an update ends with its outcome")
        };
        println!("{}", json!({ "peak": peak()?, "members": result.members }));
    }
    Ok(())
}

/// The most memory that was resident so far, in bytes.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")).context("no VmHWM")?;
    Ok(kibibytes.trim().parse::<u64>()? << 10)
}
