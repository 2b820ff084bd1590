//! Adapters on servers: by their digests, no more than are kept, and never one that somebody may still use.

use anyhow::Result;
use lyceum_core::work::{AdapterRef, Sampler};
use lyceum_stand_in::{Fault, StandIn};
use std::path::Path;

use crate::stage::{BASE, Stage, difference, fixtures, ids, payload};

/// The adapters in a folder, by name.
fn kept(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn names(adapters: &[AdapterRef]) -> Vec<String> {
    let mut names: Vec<String> = adapters.iter().map(|adapter| adapter.artifact.to_string()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapters_unused_for_longest_make_room() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let served = stage.served(&[&server], |settings| settings.kept = 2)?;
    let adapters = stage.adapters().await?;
    for used in [0, 1, 0, 2] {
        stage.run(&served, payload(&adapters[used..=used], Sampler::Served)).await?;
    }
    let folder = stage.folder.path().join("adapters");
    assert_eq!(kept(&folder), names(&[adapters[0], adapters[2]]));
    assert_eq!(server.seen().unloads, names(&adapters[1..2]));
    // It comes back when it is needed.
    stage.run(&served, payload(&adapters[1..2], Sampler::Served)).await?;
    assert_eq!(server.seen().loads.len(), 4);
    Ok(())
}

/// One worker holds an adapter while another one clears up, as if they were on two machines.
#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_in_use_is_neither_unloaded_nor_deleted() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let worker = || stage.served(&[&server], |settings| settings.kept = 0);
    let (one, other) = (worker()?, worker()?);
    let adapters = stage.adapters().await?;
    let folder = stage.folder.path().join("adapters");
    let mut held = payload(&adapters[..1], Sampler::Served);
    held.requests.truncate(1);
    server.fail(&[Fault::Hang]);
    tokio::select! {
        done = stage.run(&one, held.clone()) => panic!("{done:?}"),
        outcome = async {
            server.until(|seen| seen.hanging == 1).await;
            stage.run(&other, payload(&adapters[1..], Sampler::Served)).await?;
            assert_eq!(kept(&folder), names(&adapters[..1]));
            let mut unloads = server.seen().unloads;
            unloads.sort();
            assert_eq!(unloads, names(&adapters[1..]));
            anyhow::Ok(())
        } => outcome?,
    }
    // Nobody holds it any more.
    stage.run(&other, payload(&[], Sampler::Served)).await?;
    assert_eq!(kept(&folder), Vec::<String>::new());
    stage.run(&one, held).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_that_was_loaded_by_others_is_used_and_one_from_elsewhere_is_refused() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let adapters = stage.adapters().await?;
    let item = payload(&adapters, Sampler::Served);
    let first = stage.tokens(&stage.run(&stage.served(&[&server], |_| {})?, item.clone()).await?).await?;
    // Another worker knows nothing of the first.
    let second = stage.tokens(&stage.run(&stage.served(&[&server], |_| {})?, item.clone()).await?).await?;
    assert_eq!(ids(&first), ids(&second));
    assert_eq!(server.seen().loads.len(), 3);
    let elsewhere = stage.folder.path().join("elsewhere");
    let stranger = stage.served(&[&server], |settings| settings.adapters.clone_from(&elsewhere))?;
    let failure = stage.failure(&stranger, item).await;
    assert!(failure.contains("has adapter") && failure.contains("--vllm-adapters"), "{failure}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_holds_another_adapter_than_its_name_says_is_refused() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.server().await?;
    let adapters = stage.adapters().await?;
    let folder = stage.folder.path().join("adapters").join(adapters[0].artifact.to_string());
    let other = fixtures().join("adapters").join(BASE).join("all-1");
    std::fs::create_dir_all(&folder)?;
    for file in ["adapter_config.json", "adapter_model.safetensors"] {
        std::fs::copy(other.join(file), folder.join(file))?;
    }
    let served = stage.served(&[&server], |_| {})?;
    let failure = stage.failure(&served, payload(&adapters[..1], Sampler::Served)).await;
    assert!(failure.contains("holds another adapter than its name says"), "{failure}");
    assert_eq!(server.seen().completions, 0);
    Ok(())
}

/// With the resolver a worker loads nothing: the servers find adapters by their names.
#[tokio::test(flavor = "multi_thread")]
async fn servers_may_find_adapters_by_themselves() -> Result<()> {
    let stage = Stage::new()?;
    let folder = stage.folder.path().join("adapters");
    let server = StandIn::start_with(&fixtures().join("models").join(BASE), Some(&folder)).await?;
    let served = stage.served(&[&server], |settings| settings.resolver = true)?;
    let engine = stage.engine()?;
    let adapters = stage.adapters().await?;
    let found = stage.tokens(&stage.run(&served, payload(&adapters, Sampler::Served)).await?).await?;
    let own = stage.tokens(&stage.run(&engine, payload(&adapters, Sampler::Engine)).await?).await?;
    assert_eq!(ids(&found), ids(&own));
    assert!(difference(&found, &own) < 1e-4);
    assert_eq!(server.seen().loads.len(), 3);
    Ok(())
}
