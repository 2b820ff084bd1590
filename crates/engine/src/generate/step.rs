//! A decoding step: one token more for each sequence in flight.

use tch::Tensor;

use super::cache::KvCache;
use super::decode::DecodeAttention;
use super::run::{Rows, Run, Running};
use super::sampler::{DrawParts, Drawn};
use super::shared::{SharedAttention, SharedParts};
use super::upload::{Upload, Uploaded};
use crate::error::Result;
use crate::model::Attend;
use crate::population::IdleRows;

impl Run<'_> {
    /// Computes the next token of each of `running`, which are in some of the `slots`.
    pub(super) fn next_tokens(&self, running: &[Running], slots: usize, rows: &mut Rows) -> Result<Vec<Drawn>> {
        let model = self.generator.model;
        let idle = rows.adapters.as_ref().and_then(|(_, groups)| groups.idle());
        let row = |slot: i64| idle.map_or(slot, |idle| idle.places()[slot as usize]);
        let batch = idle.map_or(slots, IdleRows::batch);
        // Slots without a sequence are computed too, at their position 0.
        let (mut ids, mut positions, mut blocks) = (vec![0; batch], vec![0; slots], vec![None; slots]);
        for running in running {
            let slot = running.slot as usize;
            ids[row(running.slot) as usize] = running.ids.last().copied().unwrap_or(0);
            positions[slot] = self.position(running);
            let own = running.ids.len() as i64 - 1;
            blocks[slot] = running.block.as_deref().map(|block| (block, own));
        }
        let length = positions.iter().max().map_or(1, |position| position + 1);
        let draws = self.draws(running);
        let mut upload = Upload::default();
        let (ids, positions) = (upload.indices(&ids), upload.indices(&positions));
        let active = (running.len() < batch)
            .then(|| upload.indices(&running.iter().map(|running| row(running.slot)).collect::<Vec<_>>()));
        let parts = DrawParts::add(&draws, model.config.vocab_size, &mut upload);
        let prompts = rows.cache.prompts.as_ref();
        let shared = prompts.map(|prompts| SharedParts::add(&blocks, prompts, &mut upload));
        let uploaded = upload.send(model.placement.device)?;
        let positions = uploaded.indices(positions)?;
        rows.cache
            .reserve(shared.as_ref().map_or(length, |shared| shared.length))?;
        let attention = attention(&rows.cache, shared.as_ref(), &uploaded, (&positions, length))?;
        let adapters = rows
            .adapters
            .as_ref()
            .map(|(layers, groups)| (layers.as_slice(), groups));
        let ids = uploaded.indices(ids)?.f_unsqueeze(1)?;
        let hidden = model.forward(&ids, &self.rope.at(&positions)?, adapters, attention.as_ref())?;
        let mut hidden = hidden.f_squeeze_dim(1)?;
        if let Some(active) = active {
            hidden = hidden.f_index_select(0, &uploaded.indices(active)?)?;
        }
        let logits = model.logits(&model.final_norm(&hidden)?)?;
        self.draw(&logits, &draws, (&parts, &uploaded))
    }
}

/// Attention to what is cached: with `shared` to prompts that samples share, else to whole sequences, whose new tokens are at
/// `positions` below `length`.
fn attention<'a>(
    cache: &'a KvCache,
    shared: Option<&SharedParts>,
    uploaded: &Uploaded,
    (positions, length): (&Tensor, i64),
) -> Result<Box<dyn Attend + 'a>> {
    Ok(match cache.prompts.as_ref().zip(shared) {
        Some((prompts, parts)) => Box::new(SharedAttention::new(cache, prompts, parts, uploaded)?),
        None => {
            let length = cache.rounding.attention(length);
            Box::new(DecodeAttention::new(&cache.slots, positions, length)?)
        }
    })
}
