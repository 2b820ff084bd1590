//! Births through the queue equal those by hand.

use anyhow::{Context as _, Result, bail};
use lyceum_core::artifact::Digest;
use lyceum_core::id::VersionId;
use lyceum_core::work::{AdapterRef, BaseModel, EvolvePayload, EvolveResult, LoraShape, Outcome, Payload, Projection};
use lyceum_engine::evolve::{Birth, Parent};
use lyceum_engine::peft::AdapterFiles;
use uuid::Uuid;

use crate::work::house::{House, Worker};

fn payload(operator: &str, parents: &[EvolveResult], seed: u64, to: u128) -> Payload {
    Payload::Evolve(EvolvePayload {
        base_model: BaseModel { name: "qwen2-tied".to_owned(), revision: None },
        lora: LoraShape {
            r: 4,
            lora_alpha: 8.0,
            target_modules: vec![Projection::Q, Projection::V],
            use_rslora: false,
        },
        operator: operator.to_owned(),
        parameters: Default::default(),
        parents: parents.iter().map(|parent| parent.version).collect(),
        seed,
        to: VersionId(Uuid::from_u128(to)),
        measured: Vec::new(),
    })
}

async fn born(house: &House, worker: &mut Worker, phase: &str, payloads: Vec<Payload>) -> Result<Vec<EvolveResult>> {
    let mut results = Vec::new();
    for (at, payload) in payloads.into_iter().enumerate() {
        match house.done(worker, &format!("{phase}{at}"), payload).await? {
            Outcome::Evolve(result) => results.push(result),
            other => bail!("a result of kind {}", other.kind()),
        }
    }
    Ok(results)
}

#[tokio::test(flavor = "multi_thread")]
async fn generations_are_born_from_the_queue_as_by_hand() -> Result<()> {
    let house = House::new().await?;
    let artifacts = house.artifacts()?;
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/engine/tests/fixtures/models");
    let mut worker = house.worker(&["--kinds", "evolve", "--models", models])?;

    let founders = vec![payload("init", &[], 1, 11), payload("init", &[], 2, 12)];
    let founders = born(&house, &mut worker, "founders", founders).await?;
    assert_eq!(founders[1].version.version, VersionId(Uuid::from_u128(12)));
    assert_ne!(founders[0].version.artifact, founders[1].version.artifact);

    let parents = vec![payload("M4", &founders[..1], 3, 21), payload("M4", &founders[1..], 4, 22)];
    let parents = born(&house, &mut worker, "parents", parents).await?;
    assert!(parents[0].notes[0].contains("scale of a fresh A"), "{:?}", parents[0].notes);

    let Payload::Evolve(mut measured) = payload("copy_parent", &parents[..1], 5, 41) else { bail!("a birth") };
    measured.measured = parents.iter().map(|parent| parent.version).collect();
    let copy = born(&house, &mut worker, "measured", vec![Payload::Evolve(measured)]).await?;
    let geometry = copy[0].geometry.as_ref().context("a geometry")?;
    let first_and_second = geometry.pairs.iter().map(|pair| (pair.first.0.as_u128(), pair.second.0.as_u128()));
    assert_eq!(first_and_second.collect::<Vec<_>>(), [(41, 21), (41, 22), (21, 22)]);
    assert_eq!((geometry.pairs[0].cosine, geometry.pairs[0].distance), (Some(1.0), 0.0));
    assert_eq!(geometry.versions[0].norm, geometry.versions[1].norm);
    assert_eq!(parents[0].geometry, None, "nothing is measured unasked");

    let births = vec![
        payload("copy_parent", &parents[..1], 5, 31),
        payload("X3", &parents, 6, 32),
        payload("X3", &parents, 6, 33),
    ];
    let children = born(&house, &mut worker, "children", births).await?;
    assert_eq!(children[0].version.artifact, parents[0].version.artifact);
    assert_eq!(children[1].version.artifact, children[2].version.artifact, "a birth replays to the same bytes");

    let files = async |version: AdapterRef| -> Result<AdapterFiles> {
        let bytes = artifacts.get(version.artifact).await?;
        assert_eq!(Digest::of(&bytes), version.artifact);
        Ok(AdapterFiles::from_archive("adapter", &bytes)?)
    };
    let mut opened = Vec::new();
    for parent in &parents {
        opened.push(Parent::from_files("parent", files(parent.version).await?)?);
    }
    let (by_hand, _) = Birth::new("X3", &Default::default(), opened, 6)?.make_files()?;
    assert_eq!(files(children[1].version).await?, by_hand);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_born_fails_with_its_reason() -> Result<()> {
    let house = House::new().await?;
    let mut worker = house.worker(&["--kinds", "evolve"])?;
    let childless = payload("X9", &[], 1, 11);
    let said = house.done(&mut worker, "birth", childless).await.unwrap_err().to_string();
    assert!(said.contains("operator X9 takes 2 parents; 0 were given"), "{said}");
    Ok(())
}
