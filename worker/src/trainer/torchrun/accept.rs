//! What a group gives back, compared with what it was asked for: nothing is taken that a later item could fail over.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use lyceum_core::work::{MemberDiagnostics, Projection};
use lyceum_models::peft::{AdapterConfig, CONFIG, WEIGHTS, key, pack};
use serde::Deserialize;

use super::group::Ended;
use super::tensors::Tensors;
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
        return Err(HandlerError::Permanent(format!("torchrun refuses the update: {}", reason.trim())));
    }
    let said = match ended.words.as_str() {
        "" => "It wrote nothing to standard error".to_owned(),
        words => format!("The end of what it wrote to standard error:\n{words}"),
    };
    if !ended.status.success() {
        // Memory that ran out, a device that was lost.
        return Err(HandlerError::Transient(format!("torchrun ended with {}. {said}", ended.status)));
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
    let text = std::fs::read(out.join("diagnostics.json"));
    let text = text.map_err(|error| format!("{name} cannot be read: {error}"))?;
    let Diagnostics { adapters } = serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))?;
    let members = &lesson.payload.members;
    if adapters.len() != members.len() {
        return Err(format!("{name} has {} adapters, and {} learn", adapters.len(), members.len()));
    }
    for (place, (found, member)) in adapters.iter().zip(members).enumerate() {
        let MemberDiagnostics {
            policy_loss,
            grad_norm,
            entropy,
            clip_share,
            ratio,
            sampler_mismatch,
            capped_share,
            masked_share: _,
            kl,
            kl_to_base: _,
            tokens,
        } = *found;
        let numbers = [policy_loss, grad_norm, entropy, clip_share, ratio, sampler_mismatch, capped_share, kl];
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
    let before = Tensors::open(&start.folder().join(WEIGHTS), "the weights that it started from")?;
    let expected = before.shapes().map(|(name, shape)| (name.clone(), shape.clone()));
    let expected: BTreeMap<String, Vec<usize>> = expected.collect();
    let weights = Tensors::open(&out.join(WEIGHTS), &inside(WEIGHTS))?;
    weights.check(&expected)?;

    let mut state = Tensors::open(&out.join(OPTIMIZER), &inside(OPTIMIZER))?;
    let step = state.take_number(STEP)?;
    let moments = expected.iter().flat_map(|(name, shape)| {
        let factor = trained_name(name);
        ["exp_avg", "exp_avg_sq"].map(|moment| (format!("{factor}.{moment}"), shape.clone()))
    });
    state.check(&moments.collect())?;
    let made = steps(lesson, member);
    let due = match start.optimizer() {
        None => made,
        Some(folder) => {
            let before = folder.join(OPTIMIZER);
            let mut before = Tensors::open(&before, "the optimizer state that it started from")?;
            before.take_number(STEP)?.unwrap_or(0) + made
        }
    };
    if step != Some(due) {
        let step = step.map_or_else(|| "no number".to_owned(), |step| step.to_string());
        return Err(format!("`{STEP}` of {} is {step}; {due} is valid", inside(OPTIMIZER)));
    }

    let config = start.folder().join(CONFIG);
    let config: AdapterConfig = std::fs::read(config)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))
        .map_err(|error| format!("the adapter that it started from: {error}"))?;
    let adapted = Projection::ALL.into_iter().filter(|projection| expected.contains_key(&key(0, *projection, 'A')));
    let shape = config.shape(adapted.collect())?;
    let config = AdapterConfig::new(&shape, &lesson.payload.base_model.name);
    let config = serde_json::to_string_pretty(&config).map_err(|error| error.to_string())? + "\n";

    let unwritten = |error: io::Error| format!("its files cannot be written: {error}");
    let written = Written::new().map_err(unwritten)?;
    let adapter = tempfile::tempdir_in(written.folder()).map_err(unwritten)?;
    std::fs::write(adapter.path().join(CONFIG), config).map_err(unwritten)?;
    weights.write(&adapter.path().join(WEIGHTS), None, [("format".to_owned(), "pt".to_owned())].into())?;
    let archive = BufWriter::new(File::create(written.weights()).map_err(unwritten)?);
    pack(adapter.path(), archive).map_err(|error| error.to_string())?;
    state.write(&written.optimizer(), Some((STEP, due)), HashMap::new())?;
    Ok(written)
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
