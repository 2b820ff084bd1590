//! A worker with scripted handlers, or with the product's for tests that cover engine and verifier.

use clap::Parser;
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::{handlers, product};
use lyceum_worker::handlers::Rows;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    database: String,
    #[arg(long)]
    artifacts: PathBuf,
    #[arg(long)]
    pause_millis: u64,
    #[arg(long)]
    lease_millis: u64,
    #[arg(long)]
    slots: usize,
    #[arg(long)]
    heartbeat_millis: u64,
    #[arg(long)]
    model: Vec<String>,
    #[arg(long)]
    name: Option<String>,
    /// Run the product's handlers, with base models from this folder.
    #[arg(long)]
    models_folder: Option<PathBuf>,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    // Before anything that a test can see, since it may end this as soon as it does.
    let mut terminate = signal(SignalKind::terminate())?;
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_env_filter("error").with_writer(std::io::stderr).init();
    let store = Store::connect_worker(&arguments.database, 12).await?;
    let artifacts = ArtifactStore::folder(&arguments.artifacts, store.pool().clone())?;
    let handlers = match arguments.models_folder {
        // The sandbox must be started on a thread that may block.
        Some(folder) => {
            let rows = Rows::Stored(store.clone());
            tokio::task::spawn_blocking(move || product::handlers(&folder, rows)).await??
        }
        None => handlers::all(Duration::from_millis(arguments.pause_millis), store.pool()),
    };
    let defaults = RuntimeSettings::default();
    let settings = RuntimeSettings {
        name: arguments.name.unwrap_or(defaults.name),
        lease: Duration::from_millis(arguments.lease_millis),
        heartbeat: Duration::from_millis(arguments.heartbeat_millis),
        verifier_slots: arguments.slots,
        engine_slots: arguments.slots,
        base_models: (!arguments.model.is_empty()).then_some(arguments.model),
        drain_time: Duration::from_secs(1),
        ..RuntimeSettings::default()
    };
    let runtime = Runtime::start(&store, artifacts, handlers, settings).await?;
    let unfit = tokio::select! { _ = terminate.recv() => None, why = runtime.unfit() => Some(why) };
    runtime.drain().await;
    match unfit {
        Some(why) => anyhow::bail!(why),
        None => Ok(()),
    }
}
