//! The engine's golden updates (three clipped AdamW steps by PyTorch's autograd, one member and one sequence at a time) by two
//! processes that share the base, and everything that they report compared with what the engine reports.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use lyceum_core::work::{
    KlReference, Loss, LossAggregation, MemberDiagnostics, OldPolicy, Optimizer, PolicyLoss, Trainer, UpdatePayload,
    UpdateResult,
};
use lyceum_models::peft::AdapterFiles;
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::engine::Engine;
use safetensors::SafeTensors;
use serde::Deserialize;

use crate::torchrun::real::interpreter;
use crate::torchrun::stage::{Row, fixtures, models, run, torchrun, update, version};

const CASES: [(&str, &str); 8] = [
    ("policy", "qwen2-tied"),
    ("policy", "qwen3-wide-heads"),
    ("sequence-mean", "qwen2-untied-sharded"),
    ("cross-entropy", "qwen3-tied-sharded"),
    ("kl-to-start", "qwen2-tied"),
    ("kl-to-versions", "qwen2-tied"),
    ("trainer-ratio", "qwen3-wide-heads"),
    ("truncated-importance", "qwen2-tied"),
];
const ADAPTERS: [&str; 3] = ["all-0", "all-1", "all-2"];

/// A file of `make_learning.py`.
#[derive(Deserialize)]
struct Case {
    loss: Option<CaseLoss>,
    optimizer: CaseOptimizer,
    steps: u32,
    sequences: Vec<CaseRow>,
}

#[derive(Deserialize)]
struct CaseLoss {
    clip_low: f64,
    clip_high: f64,
    clip_dual: Option<f64>,
    aggregation: LossAggregation,
    entropy: f64,
    kl: f64,
    /// `versions` are those that the next members start from.
    #[serde(default)]
    reference: String,
    old_policy: Option<OldPolicy>,
    importance_cap: Option<f64>,
    constant_length: Option<u32>,
}

#[derive(Deserialize)]
struct CaseOptimizer {
    learning_rate: f64,
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    max_grad_norm: f64,
}

#[derive(Deserialize)]
struct CaseRow {
    adapter: usize,
    prompt_ids: Vec<i64>,
    ids: Vec<i64>,
    logprobs: Vec<f32>,
    advantage: f32,
}

async fn payload(store: &ArtifactStore, case: &str, model: &str) -> Result<UpdatePayload> {
    let path = fixtures().join("learning").join(case).join(format!("{model}.json"));
    let case: Case = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); ADAPTERS.len()];
    for row in case.sequences {
        rows[row.adapter].push((row.prompt_ids, row.ids, row.logprobs, row.advantage));
    }
    let mut payload = update(store, model, &ADAPTERS, &rows).await?;
    let reference = case.loss.as_ref().map(|loss| loss.reference.clone()).unwrap_or_default();
    if reference == "versions" {
        for (place, member) in payload.members.iter_mut().enumerate() {
            let next = ADAPTERS[(place + 1) % ADAPTERS.len()];
            member.kl_reference = Some(version(store, model, next, 50 + place as u128).await?);
        }
    }
    payload.loss = case.loss.map_or(Loss::CrossEntropy, |loss| {
        Loss::PolicyGradient(PolicyLoss {
            clip_low: loss.clip_low,
            clip_high: loss.clip_high,
            clip_dual: loss.clip_dual,
            aggregation: loss.aggregation,
            entropy: loss.entropy,
            kl: loss.kl,
            old_policy: loss.old_policy.unwrap_or(OldPolicy::Sampler),
            importance_cap: loss.importance_cap,
            constant_length: loss.constant_length,
            kl_reference: match reference.as_str() {
                "start" => KlReference::Start,
                _ => KlReference::Base,
            },
        })
    });
    let optimizer = case.optimizer;
    payload.optimizer = Optimizer {
        learning_rate: optimizer.learning_rate,
        beta1: optimizer.beta1,
        beta2: optimizer.beta2,
        eps: optimizer.eps,
        weight_decay: optimizer.weight_decay,
        max_grad_norm: optimizer.max_grad_norm,
        epochs: case.steps,
        minibatches: 1,
    };
    Ok(payload)
}

type Tensors = BTreeMap<String, Vec<f32>>;

/// The fp32 tensors of a file whose names begin with `prefix`, without it.
fn tensors(bytes: &[u8], prefix: &str) -> Result<Tensors> {
    let file = SafeTensors::deserialize(bytes)?;
    let own = file.iter().filter_map(|(name, view)| Some((name.strip_prefix(prefix)?, view)));
    let floats = own.filter(|(_, view)| view.dtype() == safetensors::Dtype::F32).map(|(name, view)| {
        let (words, _) = view.data().as_chunks();
        (name.to_owned(), words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    });
    Ok(floats.collect())
}

fn largest_difference(found: &Tensors, expected: &Tensors) -> Result<f32> {
    ensure!(found.keys().eq(expected.keys()), "other tensors");
    let pairs = found.values().zip(expected.values());
    let differences = pairs.flat_map(|(found, expected)| found.iter().zip(expected)).map(|(f, e)| (f - e).abs());
    Ok(differences.fold(0.0, f32::max))
}

/// A member's new weights and moments.
async fn learned(store: &ArtifactStore, result: &UpdateResult, member: usize) -> Result<(Tensors, Tensors)> {
    let version = result.members[member].version;
    let files = AdapterFiles::from_archive("new", &store.get(version.artifact).await?)?;
    let weights = tensors(&files.weights, "base_model.model.")?;
    let weights = weights.into_iter().map(|(name, values)| (name.trim_end_matches(".weight").to_owned(), values));
    let optimizer = version.optimizer.context("no optimizer state")?;
    Ok((weights.collect(), tensors(&store.get(optimizer).await?, "")?))
}

/// The largest difference between numbers that are reported, relative to those that exceed 1.
fn reported(found: &MemberDiagnostics, expected: &MemberDiagnostics) -> Result<f64> {
    let numbers = |of: &MemberDiagnostics| -> Result<BTreeMap<String, f64>> {
        Ok(serde_json::from_value(serde_json::to_value(of)?)?)
    };
    let (found, expected) = (numbers(found)?, numbers(expected)?);
    let pairs = found.values().zip(expected.values());
    Ok(pairs.map(|(f, e)| (f - e).abs() / e.abs().max(1.0)).fold(0.0, f64::max))
}

async fn on_the_engine(store: &ArtifactStore, engine: &Engine, mut payload: UpdatePayload) -> Result<UpdateResult> {
    payload.compute.trainer = Trainer::Engine;
    Ok(run(engine.clone(), store, payload).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn real_golden_updates_are_those_of_pytorch_and_of_the_engine() -> Result<()> {
    let Some(python) = interpreter() else { return Ok(()) };
    let engine = Engine::start(models(), "cpu")?;
    for (case, model) in CASES {
        let store = ArtifactStore::in_memory();
        let payload = payload(&store, case, model).await?;
        let golden = std::fs::read(fixtures().join("learning").join(case).join(format!("{model}.safetensors")))?;
        let found = run(torchrun(Path::new(&python))?, &store, payload.clone()).await?;
        let expected = on_the_engine(&store, &engine, payload).await?;
        let (mut from_golden, mut from_engine, mut moments, mut numbers) = (0_f32, 0_f32, 0_f32, 0_f64);
        for member in 0..ADAPTERS.len() {
            let (weights, state) = learned(&store, &found, member).await?;
            let (of_engine, state_of_engine) = learned(&store, &expected, member).await?;
            let stepped = tensors(&golden, &format!("stepped/{member}/"))?;
            from_golden = from_golden.max(largest_difference(&weights, &stepped)?);
            from_engine = from_engine.max(largest_difference(&weights, &of_engine)?);
            moments = moments.max(largest_difference(&state, &state_of_engine)?);
            let (found, expected) = (&found.members[member].diagnostics, &expected.members[member].diagnostics);
            numbers = numbers.max(reported(found, expected)?);
        }
        println!(
            "{case} {model}: weights {from_golden:.1e} from PyTorch's and {from_engine:.1e} from the engine's, moments \
             {moments:.1e}, diagnostics {numbers:.1e}"
        );
        ensure!(from_golden < 1e-4, "{case} {model}: weights are off by {from_golden}");
        ensure!(from_engine < 1e-4, "{case} {model}: weights are {from_engine} from the engine's");
        ensure!(moments < 1e-4, "{case} {model}: moments are {moments} from the engine's");
        ensure!(numbers < 1e-4, "{case} {model}: diagnostics are {numbers} from the engine's: {found:?} {expected:?}");
    }
    Ok(())
}

/// Minibatches, of which one member's are fewer than there are, steps that go on from a state, references of several kinds in
/// one update, and a member without sequences.
#[tokio::test(flavor = "multi_thread")]
async fn real_minibatches_and_second_updates_are_those_of_the_engine() -> Result<()> {
    let Some(python) = interpreter() else { return Ok(()) };
    let engine = Engine::start(models(), "cpu")?;
    let store = ArtifactStore::in_memory();
    let mut payload = payload(&store, "kl-to-versions", "qwen2-tied").await?;
    payload.members[0].kl_reference = None;
    payload.optimizer.epochs = 2;
    payload.optimizer.minibatches = 3;
    payload.members[2].sequences.clear();
    payload.recompute = false;
    let first = on_the_engine(&store, &engine, payload.clone()).await?;
    for (member, updated) in payload.members.iter_mut().zip(&first.members) {
        member.from = updated.version;
    }
    let found = run(torchrun(Path::new(&python))?, &store, payload.clone()).await?;
    let expected = on_the_engine(&store, &engine, payload.clone()).await?;
    for member in 0..ADAPTERS.len() {
        let (weights, state) = learned(&store, &found, member).await?;
        let (of_engine, state_of_engine) = learned(&store, &expected, member).await?;
        let (weights, state) =
            (largest_difference(&weights, &of_engine)?, largest_difference(&state, &state_of_engine)?);
        let numbers = reported(&found.members[member].diagnostics, &expected.members[member].diagnostics)?;
        println!(
            "member {member}: weights {weights:.1e} from the engine's, moments {state:.1e}, diagnostics {numbers:.1e}"
        );
        ensure!(weights < 1e-4 && state < 1e-4 && numbers < 1e-4, "member {member}: {found:?} {expected:?}");
    }
    // What did not learn is what it was, to the last bit.
    assert_eq!(found.members[2].version.artifact, payload.members[2].from.artifact);
    assert_eq!(found.members[2].version.optimizer, payload.members[2].from.optimizer);
    Ok(())
}
