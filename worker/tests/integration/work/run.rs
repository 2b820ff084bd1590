//! `lyceum-worker run`: items of the queue have the same outcome by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::dataset::Purpose;
use lyceum_core::id::{DatasetId, MemberId, VersionId, WorkId};
use lyceum_core::verify::{Check, MathPair, Task};
use lyceum_core::work::{
    AdapterRef, BaseModel, BenchmarkPayload, Compute, EvolvePayload, LoraShape, Loss, MemberUpdate, Optimizer, Outcome,
    Payload, PolicyLoss, Projection, Prompt, RolloutPayload, RolloutRequest, Sampling, SequenceRef, UpdatePayload,
    VerifyPayload,
};
use lyceum_engine::peft::AdapterFiles;
use lyceum_store::datasets::{self, NewDataset};
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use crate::work::house::{House, Worker};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
}

fn base_model() -> BaseModel {
    BaseModel { name: "qwen2-tied".to_owned(), revision: None }
}

fn compute() -> Compute {
    Compute { threads: Some(1), ..Compute::default() }
}

fn version(number: u128) -> VersionId {
    VersionId(Uuid::from_u128(number))
}

/// An outcome without its durations.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "seconds" && name != "millis");
            fields.values_mut().for_each(|field| *field = timeless(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}

/// A file with the item of `phase`, as the server returns it.
async fn shown(house: &House, phase: &str, folder: &TempDir) -> Result<PathBuf> {
    let path = folder.path().join(format!("{phase}.json"));
    std::fs::write(&path, serde_json::to_vec(&house.item(phase).await?)?)?;
    Ok(path)
}

fn run(item: &Path, further: &[&str]) -> Result<Output> {
    Ok(Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .arg("run")
        .arg(item)
        .args(["--device", "cpu", "--jobs", "1", "--models"])
        .arg(fixtures().join("models"))
        .args(further)
        .output()?)
}

/// Runs an item through the queue and by hand, and returns their common outcome.
async fn both(house: &House, worker: &mut Worker, phase: &str, payload: Payload, further: &[&str]) -> Result<Outcome> {
    let outcome = house.done(worker, phase, payload).await?;
    let folder = tempfile::tempdir()?;
    let item = shown(house, phase, &folder).await?;
    let out = folder.path().join("out");
    let artifacts = house.artifacts_folder().display().to_string();
    let to = out.display().to_string();
    let by_hand = run(&item, &[&["--artifacts", &artifacts, "--out", &to][..], further].concat())?;
    ensure!(by_hand.status.success(), "{}", String::from_utf8_lossy(&by_hand.stderr));
    let by_hand: Outcome = serde_json::from_slice(&std::fs::read(out.join("result.json"))?)?;
    let timeless = |outcome: &Outcome| Ok::<_, serde_json::Error>(timeless(serde_json::to_value(outcome)?));
    assert_eq!(timeless(&by_hand)?, timeless(&outcome)?, "{phase}");
    Ok(outcome)
}

async fn adapter(house: &House) -> Result<AdapterRef> {
    let files = AdapterFiles::read(&fixtures().join("adapters/qwen2-tied/all-0"))?;
    let artifact = house.artifacts()?.put(ArtifactKind::Adapter, files.to_archive()?).await?;
    Ok(AdapterRef { version: version(1), artifact, optimizer: None })
}

async fn rows(house: &House) -> Result<(DatasetId, Vec<Value>)> {
    let rows: Vec<Value> = (0..3)
        .map(|row| {
            serde_json::json!({
                "task_id": format!("gsm8k/{row}"),
                "question": format!("{row}+1?"),
                "oracle": {"type": "math", "gold": (row + 1).to_string()},
            })
        })
        .collect();
    let new = NewDataset {
        name: "rows",
        purpose: Purpose::Benchmark,
        suite: Some("gsm8k"),
        source: "",
        revision: None,
        rows: &rows,
    };
    let mut tx = house.store.pool().begin().await?;
    let made = datasets::create(&mut tx, &new).await?;
    tx.commit().await?;
    Ok((DatasetId(made.id), rows))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_each_kind_has_the_same_outcome_by_hand() -> Result<()> {
    let house = House::new().await?;
    let models = fixtures().join("models").display().to_string();
    let mut worker = house.worker(&["--models", &models, "--device", "cpu", "--jobs", "1"])?;
    let adapter = adapter(&house).await?;
    let sampling = Sampling { max_tokens: 8, ..Sampling::default() };

    let rollout = RolloutPayload {
        adapters: vec![adapter],
        requests: vec![RolloutRequest {
            adapter: Some(0),
            ..RolloutRequest::new("a".to_owned(), Prompt::Ids(vec![1, 2, 3]), 2, 7)
        }],
        keep_tokens: true,
        ..RolloutPayload::new(base_model(), compute(), sampling.clone())
    };
    let outcome = both(&house, &mut worker, "rollout", rollout.into(), &[]).await?;
    let Outcome::Rollout(generated) = outcome else { anyhow::bail!("not a rollout: {outcome:?}") };

    let sequences = (0..2).map(|sample| SequenceRef {
        rollout: WorkId(Uuid::nil()),
        tokens: generated.tokens.expect("tokens are kept"),
        request: "a".to_owned(),
        sample,
        advantage: [1.0, -1.0][sample as usize],
    });
    let update = UpdatePayload {
        base_model: base_model(),
        compute: compute(),
        members: vec![MemberUpdate {
            member: MemberId(Uuid::from_u128(10)),
            from: adapter,
            to: version(2),
            kl_reference: None,
            learning_rate: None,
            masked_share: 0.0,
            sequences: sequences.collect(),
        }],
        loss: Loss::PolicyGradient(PolicyLoss::default()),
        optimizer: Optimizer::default(),
        micro_batch_tokens: 64,
        recompute: true,
        piece: None,
        measure: false,
    };
    both(&house, &mut worker, "update", update.into(), &[]).await?;

    let evolve = EvolvePayload {
        base_model: base_model(),
        lora: LoraShape::new(4, 8.0, false, Projection::ALL.to_vec())?,
        operator: "M4".to_owned(),
        parameters: Default::default(),
        parents: vec![adapter],
        seed: 3,
        to: version(3),
        measured: Vec::new(),
    };
    both(&house, &mut worker, "evolve", evolve.into(), &[]).await?;

    let verify = VerifyPayload {
        tasks: vec![Task {
            id: "number".to_owned(),
            check: Check::Math(MathPair { gold: "0.5".to_owned(), answer: "\\frac{1}{2}".to_owned(), plain: false }),
        }],
        ..VerifyPayload::default()
    };
    both(&house, &mut worker, "verify", verify.into(), &[]).await?;

    let (dataset, rows) = rows(&house).await?;
    let benchmark = BenchmarkPayload {
        suite: "gsm8k".to_owned(),
        dataset,
        first: 1,
        rows: 2,
        base_model: base_model(),
        compute: compute(),
        adapter: Some(adapter),
        prompts: "completion".to_owned(),
        sampling,
        n: 2,
        seed: 5,
    };
    let file = tempfile::NamedTempFile::new()?;
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(file.path(), lines)?;
    let given = ["--dataset", file.path().to_str().context("the path is not UTF-8")?];
    both(&house, &mut worker, "benchmark", benchmark.into(), &given).await?;
    worker.stop(&house).await
}

#[test]
fn examples_that_need_nothing_run_as_they_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    for kind in ["verify", "rollout", "evolve"] {
        let printed =
            Command::new(env!("CARGO_BIN_EXE_lyceum-worker")).args(["run", "--example", kind]).output().unwrap();
        let item = folder.path().join(format!("{kind}.json"));
        std::fs::write(&item, printed.stdout).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"));
        let done = command.arg("run").arg(&item).args(["--device", "cpu", "--models"]).arg(&models).output().unwrap();
        assert!(done.status.success(), "{kind}: {}", String::from_utf8_lossy(&done.stderr));
        let result: Value = serde_json::from_slice(&done.stdout).unwrap();
        match kind {
            "verify" => {
                assert!(result["verify"]["verdicts"].as_array().unwrap().iter().all(|one| one["correct"] == true))
            }
            "rollout" => assert_eq!(result["rollout"]["generated"][0]["completions"].as_array().unwrap().len(), 2),
            _ => assert_eq!(result["evolve"]["version"]["version"], "00000000-0000-4000-8000-000000000001"),
        }
    }
}

#[test]
fn an_item_that_cannot_be_run_is_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |payload: Value, further: &[&str]| {
        let item = folder.path().join("item.json");
        std::fs::write(&item, payload.to_string()).unwrap();
        let refused = run(&item, further).unwrap();
        assert!(!refused.status.success());
        String::from_utf8(refused.stderr).unwrap()
    };
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let evolve = serde_json::json!({"evolve": {
        "base_model": {"name": "qwen2-tied"},
        "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
        "operator": "M4", "seed": 1, "to": Uuid::nil(),
        "parents": [{"version": Uuid::nil(), "artifact": digest}]
    }});
    let said = refusal(evolve.clone(), &[]);
    assert!(said.contains(&format!("adapter {digest}")) && said.contains("--server"), "{said}");
    let missing = folder.path().join("missing").display().to_string();
    let said = refusal(evolve.clone(), &["--artifacts", &missing]);
    assert!(said.contains("there is no such folder"), "{said}");
    let empty = folder.path().display().to_string();
    let said = refusal(evolve, &["--artifacts", &empty]);
    assert!(said.contains(&format!("there is no artifact {digest}")), "{said}");
    let said = refusal(serde_json::json!({"verif": {}}), &[]);
    assert!(said.contains("item.json: `verif` is not a kind of work"), "{said}");
    let mixed = serde_json::json!({
        "kind": "verify", "step": 0, "phase": "check", "round": 0, "chunk": 0,
        "payload": {"evolve": {
            "base_model": {"name": "qwen2-tied"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "operator": "init", "seed": 1, "to": Uuid::nil(), "parents": []
        }}
    });
    let said = refusal(mixed, &[]);
    assert!(said.contains("a payload of kind evolve instead of verify"), "{said}");
}
