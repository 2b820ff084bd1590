//! No process of a group outlives its item, however that ends.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use lyceum_core::work::Payload;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use procfs::process::Process;

use crate::stage::{StandIn, fixtures, run, small, torchrun};

/// Polls until there is a value.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let give_up = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        ensure!(Instant::now() < give_up, "waited two minutes: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a process is running. One that has ended and that nobody has asked after is not.
fn runs(process: i32) -> bool {
    let state = Process::new(process).and_then(|process| process.stat());
    state.is_ok_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

pub(crate) async fn until_gone(processes: &[i32]) -> Result<()> {
    let gone = || processes.iter().all(|process| !runs(*process)).then_some(());
    until(&format!("{processes:?} are gone"), gone).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_item_ends_its_processes() -> Result<()> {
    let stand_in = StandIn::new("hangs")?;
    let store = ArtifactStore::in_memory();
    let payload = small(&store).await?;
    let trainer = torchrun(&stand_in.python())?;
    let item = tokio::spawn(async move { run(trainer, &store, payload).await });
    let processes = until("it has started", || stand_in.processes()).await?;
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|process| runs(*process)));
    item.abort();
    until_gone(&processes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_outlives_torchrun_is_ended() -> Result<()> {
    let stand_in = StandIn::new("leaves-a-process")?;
    let store = ArtifactStore::in_memory();
    run(torchrun(&stand_in.python())?, &store, small(&store).await?).await?;
    let processes = stand_in.processes().context("it noted no process")?;
    until_gone(&processes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_leaves_no_process() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let artifacts = folder.path().join("artifacts");
    let store = ArtifactStore::unlisted(&ArtifactPlace::Folder(artifacts.clone())).await?;
    let item = folder.path().join("item.json");
    std::fs::write(&item, serde_json::to_string(&Payload::Update(small(&store).await?))?)?;
    let stand_in = StandIn::new("hangs")?;
    let mut worker = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .arg("run")
        .arg(&item)
        .arg("--artifacts")
        .arg(&artifacts)
        .arg("--models")
        .arg(fixtures().join("models"))
        .args([
            "--trainers",
            "torchrun",
            "--torchrun-processes",
            "2",
            "--torchrun-python",
        ])
        .arg(stand_in.python())
        // What it leaves there goes with the test.
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let processes = until("it has started", || {
        assert!(worker.try_wait().unwrap().is_none(), "the worker has ended");
        stand_in.processes()
    })
    .await?;
    assert!(processes.len() == 2 && processes.iter().all(|process| runs(*process)));
    // `kill -9`
    worker.kill()?;
    worker.wait()?;
    until_gone(&processes).await
}
