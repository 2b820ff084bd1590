//! A coordinator that knows the scripted recipes.

use clap::Parser;
use lyceum_server::coordinator::Coordinator;
use lyceum_server::lab::Pace;
use lyceum_server::serve::begin_scheduled;
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::listener::Listener;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    database: String,
    #[arg(long)]
    artifacts: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Before anything that a test can see, since it may end this as soon as it does.
    let mut terminate = signal(SignalKind::terminate())?;
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_env_filter("warn").with_writer(std::io::stderr).init();
    let store = Store::connect(&arguments.database, 8).await?;
    let artifacts = ArtifactStore::folder(&arguments.artifacts, store.pool().clone())?;
    let pace = Pace { sweep: Duration::from_millis(300), ..Pace::default() };
    let mut listener = Listener::new(store.pool());
    let registry = lyceum_system_tests::house::registry();
    let coordinator = Coordinator::start(store, artifacts, registry, begin_scheduled, pace, &mut listener);
    let _listening = listener.start();
    terminate.recv().await;
    coordinator.stop().await;
    Ok(())
}
