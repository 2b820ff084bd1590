//! What a group gives back, compared with what it was asked for: nothing is taken that a later item could fail over.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use lyceum_core::work::{MemberDiagnostics, Projection};
use lyceum_models::peft::{AdapterConfig, AdapterFiles, WEIGHTS, key};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensorError, SafeTensors};
use serde::Deserialize;

use super::group::Ended;
use crate::adapter::OPTIMIZER;
use crate::handler::HandlerError;
use crate::trainer::{Lesson, Written};

const STEP: &str = "step";

/// `diagnostics.json`.
#[derive(Deserialize)]
struct Diagnostics {
    adapters: Vec<MemberDiagnostics>,
}

/// The new files and the diagnostics of all members.
pub(super) fn results(lesson: &Lesson, ended: &Ended) -> Result<(Vec<Written>, Vec<MemberDiagnostics>), HandlerError> {
    let out = ended.folder.path().join("out");
    if let Ok(reason) = std::fs::read_to_string(out.join("refused")) {
        return Err(HandlerError::Permanent(format!(
            "torchrun refuses the update: {}",
            reason.trim()
        )));
    }
    let said = match ended.words.as_str() {
        "" => "It wrote nothing to standard error".to_owned(),
        words => format!("The end of what it wrote to standard error:\n{words}"),
    };
    if !ended.status.success() {
        // Memory that ran out, a device that was lost.
        return Err(HandlerError::Transient(format!(
            "torchrun ended with {}. {said}",
            ended.status
        )));
    }
    let refused =
        |reason: String| HandlerError::Permanent(format!("torchrun gives back what was not asked: {reason}. {said}"));
    let diagnostics = diagnostics(lesson, &out).map_err(refused)?;
    let members = 0..lesson.starts.len();
    let written = members.map(|member| written(lesson, member, &out.join(member.to_string())));
    let written = written.collect::<Result<_, _>>().map_err(refused)?;
    Ok((written, diagnostics))
}

fn diagnostics(lesson: &Lesson, out: &Path) -> Result<Vec<MemberDiagnostics>, String> {
    let name = "out/diagnostics.json";
    let text = read(out, "diagnostics.json", name)?;
    let Diagnostics { adapters } = serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))?;
    let members = &lesson.payload.members;
    if adapters.len() != members.len() {
        return Err(format!(
            "{name} has {} adapters, and {} learn",
            adapters.len(),
            members.len()
        ));
    }
    for (place, (found, member)) in adapters.iter().zip(members).enumerate() {
        let MemberDiagnostics {
            policy_loss,
            grad_norm,
            entropy,
            clip_share,
            ratio,
            sampler_mismatch,
            kl,
            tokens,
        } = *found;
        let numbers = [policy_loss, grad_norm, entropy, clip_share, ratio, sampler_mismatch, kl];
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(format!("a number of adapter {place} in {name} is not finite"));
        }
        let mut expected = 0;
        for sequence in &member.sequences {
            let (_, sample) = lesson.tokens(sequence).map_err(|error| error.to_string())?;
            expected += sample.ids.len() as u64;
        }
        if tokens != expected {
            return Err(format!(
                "adapter {place} in {name} has learned from {tokens} tokens, and was given {expected}"
            ));
        }
    }
    Ok(adapters)
}

/// A member's new files, in the bytes that the engine would write for the same numbers.
fn written(lesson: &Lesson, member: usize, out: &Path) -> Result<Written, String> {
    let start = &lesson.starts[member];
    let inside = |name: &str| format!("out/{member}/{name}");
    let before = tensors(&start.files().weights, "the weights that it started from")?;
    let bytes = read(out, WEIGHTS, &inside(WEIGHTS))?;
    let weights = tensors(&bytes, &inside(WEIGHTS))?;
    let expected = before.iter().map(|(name, view)| (name.clone(), view.shape().to_vec()));
    let expected: BTreeMap<String, Vec<usize>> = expected.collect();
    same_shapes(&weights, &expected, &inside(WEIGHTS))?;

    let bytes = read(out, OPTIMIZER, &inside(OPTIMIZER))?;
    let mut state = tensors(&bytes, &inside(OPTIMIZER))?;
    let step = state.remove(STEP).as_ref().and_then(one_number);
    let moments = expected.iter().flat_map(|(name, shape)| {
        let factor = trained_name(name);
        ["exp_avg", "exp_avg_sq"].map(|moment| (format!("{factor}.{moment}"), shape.clone()))
    });
    same_shapes(&state, &moments.collect(), &inside(OPTIMIZER))?;
    let made = steps(lesson, member);
    let due = match start.optimizer() {
        None => made,
        Some(bytes) => {
            let before = tensors(bytes, "the optimizer state that it started from")?;
            before.get(STEP).and_then(one_number).unwrap_or(0) + made
        }
    };
    if step != Some(due) {
        let step = step.map_or_else(|| "no number".to_owned(), |step| step.to_string());
        return Err(format!("`{STEP}` of {} is {step}; {due} is valid", inside(OPTIMIZER)));
    }

    let config: AdapterConfig = serde_json::from_slice(&start.files().config)
        .map_err(|error| format!("the adapter that it started from: {error}"))?;
    let adapted = Projection::ALL
        .into_iter()
        .filter(|projection| expected.contains_key(&key(0, *projection, 'A')));
    let shape = config.shape(adapted.collect())?;
    let config = AdapterConfig::new(&shape, &lesson.payload.base_model.name);
    let config = serde_json::to_string_pretty(&config).map_err(|error| error.to_string())? + "\n";
    let files = AdapterFiles {
        config: config.into_bytes(),
        weights: stored(weights, [("format".to_owned(), "pt".to_owned())].into())?,
    };
    let step = (due as i64).to_le_bytes();
    let view = TensorView::new(Dtype::I64, vec![1], &step).map_err(|error| error.to_string())?;
    state.insert(STEP.to_owned(), view);
    Ok(Written {
        weights: files.to_archive().map_err(|error| error.to_string())?,
        optimizer: stored(state, HashMap::new())?,
    })
}

/// Optimizer steps that a member makes: minibatches that have none of its sequences are none.
fn steps(lesson: &Lesson, member: usize) -> u64 {
    let optimizer = &lesson.payload.optimizer;
    let sequences = lesson.payload.members[member].sequences.len() as u64;
    u64::from(optimizer.epochs) * sequences.min(u64::from(optimizer.minibatches))
}

/// The name of a factor in an optimizer state, such as `model.layers.0.self_attn.q_proj.lora_A`.
fn trained_name(key: &str) -> &str {
    let name = key.strip_prefix("base_model.model.").unwrap_or(key);
    name.strip_suffix(".weight").unwrap_or(name)
}

fn read(folder: &Path, name: &str, shown: &str) -> Result<Vec<u8>, String> {
    std::fs::read(folder.join(name)).map_err(|error| format!("{shown} cannot be read: {error}"))
}

fn tensors<'a>(bytes: &'a [u8], shown: &str) -> Result<BTreeMap<String, TensorView<'a>>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| format!("{shown}: {error}"))?;
    Ok(file.tensors().into_iter().collect())
}

fn stored(tensors: BTreeMap<String, TensorView<'_>>, metadata: HashMap<String, String>) -> Result<Vec<u8>, String> {
    safetensors::serialize(tensors, Some(metadata)).map_err(|error: SafeTensorError| error.to_string())
}

/// Refuses tensors that are missing, of other shapes or kinds, or not finite, and those that nobody asked for.
fn same_shapes(
    found: &BTreeMap<String, TensorView<'_>>,
    expected: &BTreeMap<String, Vec<usize>>,
    shown: &str,
) -> Result<(), String> {
    for (name, shape) in expected {
        let Some(view) = found.get(name) else {
            return Err(format!("{shown} has no `{name}`"));
        };
        if view.dtype() != Dtype::F32 || view.shape() != shape {
            return Err(format!(
                "`{name}` of {shown} is {:?} {:?}; F32 {shape:?} is valid",
                view.dtype(),
                view.shape()
            ));
        }
        let (words, _) = view.data().as_chunks();
        if let Some(at) = words.iter().position(|word| !f32::from_le_bytes(*word).is_finite()) {
            let value = f32::from_le_bytes(words[at]);
            return Err(format!(
                "number {at} of `{name}` of {shown} is {value}; it must be finite"
            ));
        }
    }
    match found.keys().find(|name| !expected.contains_key(*name)) {
        Some(stray) => Err(format!("{shown} has `{stray}`, which is no part of the adapter")),
        None => Ok(()),
    }
}

/// The number of a tensor `[1]` of integers.
fn one_number(view: &TensorView<'_>) -> Option<u64> {
    let (words, _) = view.data().as_chunks();
    match (view.dtype(), words) {
        (Dtype::I64, [word]) => u64::try_from(i64::from_le_bytes(*word)).ok(),
        _ => None,
    }
}
