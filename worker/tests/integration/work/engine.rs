//! Generation and training through the queue give the same results as the commands by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::{MemberId, VersionId, WorkId};
use lyceum_core::work::{
    AdapterRef, BaseModel, Compute, KlReference, Loss, MemberGeometry, MemberUpdate, Optimizer, Outcome, Payload,
    Piece, PolicyLoss, Prompt, RolloutPayload, RolloutRequest, RolloutResult, Sampling, SequenceRef, UpdatePayload,
    UpdateResult,
};
use lyceum_engine::evolve::{Parent, geometry};
use lyceum_engine::peft::AdapterFiles;
use lyceum_engine::token_batch::TokenBatch;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::work::house::{House, Worker};

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
}

pub(crate) fn adapter_folder(index: usize) -> PathBuf {
    fixtures().join("adapters/qwen2-tied").join(format!("all-{index}"))
}

fn compute() -> Compute {
    Compute { threads: Some(1), ..Compute::default() }
}

fn by_hand(arguments: &[&str]) -> Result<()> {
    let said = Command::new(env!("CARGO_BIN_EXE_lyceum-worker")).args(arguments).output()?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Ok(())
}

pub(crate) async fn adapters(house: &House) -> Result<Vec<AdapterRef>> {
    let store = house.artifacts()?;
    let mut adapters = Vec::new();
    for index in 0..2 {
        adapters.push(AdapterRef {
            version: VersionId(Uuid::from_u128(index as u128)),
            artifact: store
                .put(ArtifactKind::Adapter, AdapterFiles::read(&adapter_folder(index))?.to_archive()?)
                .await?,
            optimizer: None,
        });
    }
    Ok(adapters)
}

pub(crate) fn rollout(adapters: &[AdapterRef]) -> RolloutPayload {
    let request = |id: &str, adapter, ids: &[u32]| RolloutRequest {
        adapter,
        ..RolloutRequest::new(id.to_owned(), Prompt::Ids(ids.to_vec()), 2, 7)
    };
    RolloutPayload {
        adapters: adapters.to_vec(),
        requests: vec![
            request("a", Some(0), &[1, 2, 3]),
            request("b", Some(1), &[4, 5]),
            request("base", None, &[1, 2, 3]),
        ],
        keep_tokens: true,
        ..RolloutPayload::new(
            BaseModel { name: "qwen2-tied".to_owned(), revision: None },
            compute(),
            Sampling { max_tokens: 8, ..Sampling::default() },
        )
    }
}

pub(crate) fn update(
    adapters: &[AdapterRef],
    generated: &RolloutResult,
    piece: Option<Piece>,
) -> Result<UpdatePayload> {
    let Some(tokens) = generated.tokens else { bail!("tokens were to be kept") };
    let members = adapters.iter().zip(["a", "b"]).enumerate().map(|(at, (adapter, request))| MemberUpdate {
        member: MemberId(Uuid::from_u128(10 + at as u128)),
        from: *adapter,
        to: VersionId(Uuid::from_u128(20 + at as u128)),
        kl_reference: None,
        learning_rate: None,
        masked_share: 0.0,
        sequences: (0..2)
            .map(|sample| SequenceRef {
                rollout: WorkId(Uuid::nil()),
                tokens,
                request: request.to_owned(),
                sample,
                advantage: [1.0, -1.0][sample as usize],
            })
            .collect(),
    });
    Ok(UpdatePayload {
        base_model: rollout(&[]).base_model,
        compute: compute(),
        members: members.collect(),
        loss: Loss::PolicyGradient(PolicyLoss { kl: 0.01, kl_reference: KlReference::Start, ..PolicyLoss::default() }),
        optimizer: Optimizer { learning_rate: 0.01, ..Optimizer::default() },
        micro_batch_tokens: 64,
        recompute: true,
        piece,
        measure: true,
    })
}

pub(crate) async fn updated(
    house: &House,
    worker: &mut Worker,
    phase: &str,
    payload: UpdatePayload,
) -> Result<UpdateResult> {
    match house.done(worker, phase, Payload::Update(payload)).await? {
        Outcome::Update(result) => Ok(result),
        other => bail!("a result of kind {}", other.kind()),
    }
}

/// Sum of the log-probabilities of a sample under an adapter folder, by the `score` command.
pub(crate) fn scored(folder: &Path, prompt: &[i64], ids: &[i64]) -> Result<f64> {
    let files = tempfile::tempdir()?;
    let [input, output] = ["in.jsonl", "out.jsonl"].map(|name| files.path().join(name).display().to_string());
    let line = json!({ "id": "x", "ids": ([prompt, ids].concat()), "adapter": 0 });
    std::fs::write(&input, format!("{line}\n"))?;
    let (model, adapter) = (fixtures().join("models/qwen2-tied").display().to_string(), folder.display().to_string());
    by_hand(&["score", "--model", &model, "--adapter", &adapter, "--device", "cpu", "--in", &input, "--out", &output])?;
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&output)?)?;
    let logprobs = result["logprobs"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(logprobs.iter().skip(prompt.len() - 1).filter_map(Value::as_f64).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn members_generate_and_learn_through_the_queue_as_they_do_by_hand() -> Result<()> {
    let house = House::new().await?;
    let models = fixtures().join("models").display().to_string();
    let mut worker = house.worker(&["--kinds", "rollout,update", "--models", &models, "--device", "cpu"])?;
    let adapters = adapters(&house).await?;

    let outcome = house.done(&mut worker, "propose", Payload::Rollout(rollout(&adapters))).await?;
    let Outcome::Rollout(generated) = outcome else { bail!("no completions") };
    let counted: u64 = generated.generated.iter().flat_map(|of| &of.completions).map(|one| u64::from(one.tokens)).sum();
    assert_eq!(generated.usage.completion_tokens, counted);
    assert_eq!(generated.usage.prompt_tokens, 8);

    // By hand, from the same folders.
    let files = tempfile::tempdir()?;
    let [input, output] = ["in.jsonl", "out.jsonl"].map(|name| files.path().join(name).display().to_string());
    let requests = [("a", json!(0), vec![1, 2, 3]), ("b", json!(1), vec![4, 5]), ("base", Value::Null, vec![1, 2, 3])];
    let lines = requests.map(|(id, adapter, ids)| {
        format!("{}\n", json!({ "id": id, "ids": ids, "adapter": adapter, "n": 2, "seed": 7, "max_tokens": 8 }))
    });
    std::fs::write(&input, lines.concat())?;
    let model = fixtures().join("models/qwen2-tied").display().to_string();
    let [first, second] = [0, 1].map(|index| adapter_folder(index).display().to_string());
    by_hand(&[
        "rollout",
        "--model",
        &model,
        "--adapter",
        &first,
        "--adapter",
        &second,
        "--device",
        "cpu",
        "--in",
        &input,
        "--out",
        &output,
    ])?;
    let Some(digest) = generated.tokens else { bail!("tokens were to be kept") };
    let tokens = TokenBatch::from_bytes(&house.artifacts()?.get(digest).await?)?;
    for line in std::fs::read_to_string(&output)?.lines() {
        let result: Value = serde_json::from_str(line)?;
        let Some(request) = tokens.request(result["id"].as_str().unwrap_or_default()) else {
            bail!("no tokens of {}", result["id"])
        };
        for (sample, completion) in request.samples.iter().zip(result["completions"].as_array().into_iter().flatten()) {
            assert_eq!(json!(sample.ids), completion["ids"]);
        }
    }

    // Rewarded samples become more likely, punished ones less.
    let learned = updated(&house, &mut worker, "update", update(&adapters, &generated, None)?).await?;
    let mut stored = Vec::new();
    for (member, request) in learned.members.iter().zip(["a", "b"]) {
        let archive = house.artifacts()?.get(member.version.artifact).await?;
        let folder = tempfile::tempdir()?;
        AdapterFiles::from_archive(request, &archive)?.write(folder.path())?;
        stored.push((member.version.version, Parent::open(folder.path())?));
        let before = adapter_folder(usize::from(request == "b"));
        let Some(of) = tokens.request(request) else { bail!("no tokens of {request}") };
        for (sample, sign) in of.samples.iter().zip([1.0, -1.0]) {
            let gain = scored(folder.path(), &of.prompt, &sample.ids)? - scored(&before, &of.prompt, &sample.ids)?;
            assert!(gain * sign > 0.0, "member {request}, advantage {sign}: {gain}");
        }
        assert!(member.version.optimizer.is_some());
    }
    let measured: Vec<MemberGeometry> = learned.members.iter().filter_map(|member| member.geometry.clone()).collect();
    let of_stored: Vec<MemberGeometry> = geometry(&stored)?.by_version().collect();
    assert_eq!(measured, of_stored, "the geometry is that of the weights that are kept");

    // In two pieces and a sum: the same step up to rounding, and the same bytes when repeated.
    let mut gradients = Vec::new();
    for index in 0..2 {
        let piece = Some(Piece::Gradient { index, of: 2 });
        let result =
            updated(&house, &mut worker, &format!("piece{index}"), update(&adapters, &generated, piece)?).await?;
        assert!(result.members.is_empty());
        gradients.extend(result.gradient);
    }
    let mut names = Vec::new();
    for phase in ["sum", "again"] {
        let piece = Some(Piece::Apply { gradients: gradients.clone() });
        let mut sum = update(&adapters, &generated, piece)?;
        // The pieces contain the training data, so a recipe does not pass it again.
        sum.members.iter_mut().for_each(|member| member.sequences.clear());
        let result = updated(&house, &mut worker, phase, sum).await?;
        for (piecewise, whole) in result.members.iter().zip(&learned.members) {
            let (a, b) = (piecewise.diagnostics, whole.diagnostics);
            assert!((a.grad_norm - b.grad_norm).abs() < 1e-4 * b.grad_norm, "{a:?} {b:?}");
            assert_eq!(a.tokens, b.tokens);
        }
        names.push(result.members.iter().map(|member| member.version.artifact).collect::<Vec<_>>());
    }
    assert_eq!(names[0], names[1]);
    worker.stop(&house).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_an_unknown_base_says_what_it_lacks_and_no_path() -> Result<()> {
    let house = House::new().await?;
    let models = fixtures().join("models").display().to_string();
    let mut worker = house.worker(&["--kinds", "rollout", "--models", &models, "--device", "cpu"])?;
    let mut unknown = rollout(&[]);
    unknown.base_model.name = "unknown".to_owned();
    let refusal = house.done(&mut worker, "unknown", Payload::Rollout(unknown)).await.unwrap_err().to_string();
    assert!(
        refusal.contains("base model `unknown`") && refusal.contains("models folder") && !refusal.contains(&models),
        "{refusal}"
    );
    Ok(())
}
