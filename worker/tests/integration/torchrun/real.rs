//! What the script itself refuses, and that it ends with the worker: with torch, where `TORCHRUN_PYTHON` names an interpreter
//! that has it.

use std::path::Path;

use anyhow::Result;
use lyceum_core::artifact::ArtifactKind;
use lyceum_store::artifact::{ArtifactPlace, ArtifactStore};
use procfs::process::all_processes;

use crate::torchrun::killed::{until, until_gone};
use crate::torchrun::stage::{run, small, torchrun, update, worker};

/// The interpreter; says so where there is none.
pub(crate) fn interpreter() -> Option<String> {
    let python = std::env::var("TORCHRUN_PYTHON").ok();
    if python.is_none() {
        println!(
            "SKIPPED: TORCHRUN_PYTHON names no interpreter that has torch, transformers, peft and safetensors; see docs/SCALING.md"
        );
    }
    python
}

#[tokio::test(flavor = "multi_thread")]
async fn real_refusals_name_the_sequence_and_what_is_wrong() -> Result<()> {
    let Some(python) = interpreter() else { return Ok(()) };
    let store = ArtifactStore::in_memory();
    let outside = [vec![(vec![1], vec![320], vec![-1.0], 1.0)]];
    let outside = update(&store, "qwen2-tied", &["all-0"], &outside).await?;
    let short = [vec![(vec![1], vec![], vec![], 1.0)]];
    let short = update(&store, "qwen2-tied", &["all-0"], &short).await?;
    // Weights that are finite and have no finite results.
    let mut large = small(&store).await?;
    let archive = store.get(large.members[0].from.artifact).await?;
    let mut files = lyceum_models::peft::AdapterFiles::from_archive("large", &archive)?;
    let header = u64::from_le_bytes(files.weights[..8].try_into()?) as usize + 8;
    for word in files.weights[header..].chunks_exact_mut(4) {
        word.copy_from_slice(&1e30_f32.to_le_bytes());
    }
    large.members[0].from.artifact = store.put(ArtifactKind::Adapter, files.to_archive()?).await?;
    for (payload, reason) in [
        (outside, "sequence `0/0`: id 320 is outside the vocabulary of 320 (member 0)"),
        (short, "1 prompt ids and 0 ids to learn; at least one of each is needed (member 0)"),
        (large, "is not finite (NaN or infinity)"),
    ] {
        let error = run(torchrun(Path::new(&python))?, &store, payload).await.unwrap_err().to_string();
        println!("{error}");
        assert!(error.starts_with("torchrun refuses the update: ") && error.contains(reason), "{error}");
    }
    Ok(())
}

/// The processes of a group: those that name a folder below `folder` in their environment.
fn group(folder: &Path) -> Vec<i32> {
    let named = std::ffi::OsStr::new("LYCEUM_TORCHRUN_FOLDER");
    let processes = all_processes().into_iter().flatten().flatten();
    let own = processes.filter(|process| {
        let environment = process.environ().unwrap_or_default();
        environment.get(named).is_some_and(|of| Path::new(of).starts_with(folder))
    });
    own.map(|process| process.pid).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn real_processes_end_with_a_killed_worker() -> Result<()> {
    let Some(python) = interpreter() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let store = ArtifactStore::unlisted(&ArtifactPlace::Folder(folder.path().join("artifacts"))).await?;
    let mut payload = small(&store).await?;
    // Longer than anyone waits.
    payload.optimizer.epochs = 1_000_000;
    let mut worker = worker(folder.path(), payload, Path::new(&python))?;
    // torchrun's agent and the two processes.
    let processes = until("it has started", || {
        assert!(worker.try_wait().unwrap().is_none(), "the worker has ended");
        Some(group(folder.path())).filter(|processes| processes.len() >= 3)
    })
    .await?;
    worker.kill()?;
    worker.wait()?;
    until_gone(&processes).await?;
    assert_eq!(group(folder.path()), [0; 0]);
    Ok(())
}
