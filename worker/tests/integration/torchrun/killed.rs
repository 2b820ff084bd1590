//! No process of a group outlives its item, however that ends.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use procfs::process::Process;

use crate::torchrun::stage::{StandIn, run, small, torchrun, worker};

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
    let store = ArtifactStore::unlisted(&ArtifactPlace::Folder(folder.path().join("artifacts"))).await?;
    let stand_in = StandIn::new("hangs")?;
    let mut worker = worker(folder.path(), small(&store).await?, &stand_in.python())?;
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
