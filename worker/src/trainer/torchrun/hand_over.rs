//! The folder that a group is handed. Its layout is described in `update.py`, which reads it.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use lyceum_core::work::{Dtype, KlReference, Loss, MemberUpdate, Optimizer};
use serde::Serialize;

use crate::adapter::disk;
use crate::handler::HandlerError;
use crate::trainer::Lesson;

/// `update.json`.
#[derive(Serialize)]
struct Job<'a> {
    base: &'a Path,
    dtype: Dtype,
    threads: Option<u32>,
    device: &'a str,
    loss: &'a Loss,
    optimizer: &'a Optimizer,
    learning_rates: Vec<f64>,
    micro_batch_tokens: u32,
    recompute: bool,
    references: Vec<Option<Reference>>,
}

/// What a member is kept close to.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reference {
    Base,
    Start,
    Version,
}

/// A line of `samples.jsonl`.
#[derive(Serialize)]
struct Sample<'a> {
    id: String,
    adapter: usize,
    prompt_ids: &'a [i64],
    ids: &'a [i64],
    logprobs: &'a [f32],
    advantage: f32,
}

/// Writes everything but the script.
pub(super) fn write(folder: &Path, lesson: &Lesson, base: &Path, device: &str) -> Result<(), HandlerError> {
    let payload = &lesson.payload;
    let references = references(lesson);
    for (place, start) in lesson.starts.iter().enumerate() {
        start.link(&folder.join("members").join(place.to_string()))?;
    }
    let named = lesson.references.iter().flat_map(|named| &named.versions).enumerate();
    for (place, version) in named.filter(|(place, _)| references[*place] == Some(Reference::Version)) {
        version.link(&folder.join("references").join(place.to_string()))?;
    }
    let mut lines = BufWriter::new(File::create(folder.join("samples.jsonl")).map_err(disk)?);
    for (adapter, member) in payload.members.iter().enumerate() {
        for sequence in &member.sequences {
            let (request, sample) = lesson.tokens(sequence)?;
            let sample = Sample {
                id: format!("{}/{}", sequence.request, sequence.sample),
                adapter,
                prompt_ids: &request.prompt,
                ids: &sample.ids,
                logprobs: &sample.logprobs,
                advantage: sequence.advantage,
            };
            let line = serde_json::to_string(&sample).map_err(HandlerError::permanent)?;
            writeln!(lines, "{line}").map_err(disk)?;
        }
    }
    lines.flush().map_err(disk)?;
    let rate = |member: &MemberUpdate| member.learning_rate.unwrap_or(payload.optimizer.learning_rate);
    let job = Job {
        base,
        dtype: payload.compute.dtype,
        threads: payload.compute.threads,
        device,
        loss: &payload.loss,
        optimizer: &payload.optimizer,
        learning_rates: payload.members.iter().map(rate).collect(),
        micro_batch_tokens: payload.micro_batch_tokens,
        recompute: payload.recompute,
        references,
    };
    let job = serde_json::to_string_pretty(&job).map_err(HandlerError::permanent)?;
    std::fs::write(folder.join("update.json"), job).map_err(disk)
}

/// Each member's own reference, or the one that the loss names.
fn references(lesson: &Lesson) -> Vec<Option<Reference>> {
    let payload = &lesson.payload;
    let otherwise = payload.loss.kl_reference().map(|reference| match reference {
        KlReference::Base => Reference::Base,
        KlReference::Start => Reference::Start,
    });
    let of_member = |own: bool| otherwise.map(|otherwise| if own { Reference::Version } else { otherwise });
    let members = payload.members.iter();
    members.map(|member| of_member(member.kl_reference.is_some())).collect()
}
