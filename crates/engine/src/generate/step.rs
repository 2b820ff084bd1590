//! A decoding step: one token more for each sequence in flight.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::cache::{First, KeyValues, KvCache, Places};
use super::run::{Rows, Run, Running};
use super::sampler::{DrawParts, Drawn};
use super::shared::{SharedAttention, SharedParts};
use super::upload::{Indices, Upload, Uploaded};
use crate::device::graph::{Graph, graphs_exist};
use crate::error::Result;
use crate::model::Attend;
use crate::population::IdleRows;
use crate::product::product;

/// What the layers of a step need from the host, in its upload.
struct Inputs {
    ids: Indices,
    positions: Indices,
    shared: Option<SharedParts>,
    /// Words of the upload that are theirs: the first ones.
    words: i64,
    /// Positions of the longest sequence, the new one included.
    length: i64,
}

/// All on which the kernels of a step's layers depend, and where they read and write, but for the contents of the upload.
type Shape = [i64; 7];

/// The layers of the steps of a batch, once they are equal.
#[derive(Debug, Default)]
pub(super) enum StepGraph {
    #[default]
    None,
    /// The last step's shape: if the next one's is the same, it is recorded.
    Of(Shape),
    Recorded(Box<Recorded>),
}

#[derive(Debug)]
pub(super) struct Recorded {
    shape: Shape,
    graph: Graph,
    /// What it reads.
    inputs: Uploaded,
    /// What it computes.
    hidden: Tensor,
}

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
        let draws = self.draws(running);
        let mut upload = Upload::default();
        let length = positions.iter().max().map_or(1, |position| position + 1);
        let (ids, positions) = (upload.indices(&ids), upload.indices(&positions));
        let prompts = rows.cache.prompts.as_ref();
        let inputs = Inputs {
            ids,
            positions,
            shared: prompts.map(|prompts| SharedParts::add(&blocks, prompts, &mut upload)),
            words: upload.words(),
            length,
        };
        let active = (running.len() < batch)
            .then(|| upload.indices(&running.iter().map(|running| row(running.slot)).collect::<Vec<_>>()));
        let parts = DrawParts::add(&draws, model.config.vocab_size, &mut upload);
        let uploaded = upload.send(model.placement.device)?;
        rows.cache.reserve(inputs.shared.as_ref().map_or(length, |shared| shared.length))?;
        let mut hidden = self.hidden(rows, &inputs, &uploaded)?;
        if let Some(active) = active {
            hidden = hidden.f_index_select(0, &uploaded.indices(active)?)?;
        }
        let logits = model.logits(&model.final_norm(&hidden)?)?;
        self.draw(&logits, &draws, (&parts, &uploaded))
    }

    /// Hidden states after the last layer, `[batch, hidden_size]`. On a GPU the layers are recorded when two steps follow one
    /// another that differ only in what is uploaded: their kernels take the host longer than most of them take the GPU.
    fn hidden(&self, rows: &mut Rows, inputs: &Inputs, uploaded: &Uploaded) -> Result<Tensor> {
        let Some(gpu) = self.generator.model.placement.gpu() else { return self.layers(rows, inputs, uploaded) };
        if !self.options.graphs || !graphs_exist() {
            return self.layers(rows, inputs, uploaded);
        }
        let shape = inputs.shape(&rows.cache);
        let recorded = match std::mem::take(&mut rows.graph) {
            StepGraph::Recorded(recorded) if recorded.shape == shape => {
                recorded.inputs.replace(uploaded)?;
                recorded
            }
            StepGraph::Of(last) if last == shape => {
                let first = uploaded.first(inputs.words)?;
                match Graph::record(gpu, || self.layers(rows, inputs, &first))? {
                    Some((graph, hidden)) => Box::new(Recorded { shape, graph, inputs: first, hidden }),
                    None => return self.layers(rows, inputs, uploaded),
                }
            }
            _ => {
                rows.graph = StepGraph::Of(shape);
                return self.layers(rows, inputs, uploaded);
            }
        };
        recorded.graph.replay()?;
        let hidden = recorded.hidden.shallow_clone();
        rows.graph = StepGraph::Recorded(recorded);
        Ok(hidden)
    }

    fn layers(&self, rows: &Rows, inputs: &Inputs, uploaded: &Uploaded) -> Result<Tensor> {
        let positions = uploaded.indices(inputs.positions)?;
        let attention = attention(&rows.cache, inputs, uploaded, &positions)?;
        let adapters = rows.adapters.as_ref().map(|(layers, groups)| (layers.as_slice(), groups));
        let ids = uploaded.indices(inputs.ids)?.f_unsqueeze(1)?;
        let rope = self.rope.at(&positions)?;
        let hidden = self.generator.model.forward(&ids, &rope, adapters, attention.as_ref())?;
        Ok(hidden.f_squeeze_dim(1)?)
    }
}

impl Inputs {
    fn shape(&self, cache: &KvCache) -> Shape {
        let of_prompts = cache.prompts.as_ref().map_or([0; 3], |prompts| {
            let kept = &prompts.key_values;
            [kept.rows(), kept.capacity(), cache.rounding.attention(prompts.longest())]
        });
        let length = self.shared.as_ref().map_or(self.length, |shared| shared.length);
        let [rows, capacity, longest] = of_prompts;
        let slots = &cache.slots;
        [self.words, slots.rows(), slots.capacity(), cache.rounding.attention(length), rows, capacity, longest]
    }
}

/// Attention to what is cached: to prompts that samples share, or to whole sequences, whose new tokens are at `positions`.
fn attention<'a>(
    cache: &'a KvCache,
    inputs: &Inputs,
    uploaded: &Uploaded,
    positions: &Tensor,
) -> Result<Box<dyn Attend + 'a>> {
    Ok(match cache.prompts.as_ref().zip(inputs.shared.as_ref()) {
        Some((prompts, parts)) => Box::new(SharedAttention::new(cache, prompts, parts, uploaded)?),
        None => {
            let length = cache.rounding.attention(inputs.length);
            Box::new(DecodeAttention::new(&cache.slots, positions, length)?)
        }
    })
}

/// Attention of one new token per slot to the slot's cached tokens.
pub(super) struct DecodeAttention<'a> {
    slots: &'a KeyValues,
    cached: Rc<[First]>,
    /// Number of positions to attend to, at least those used by any slot, including the new one.
    length: i64,
    places: Places,
    /// Attention mask `[slots, 1, 1, length]`: 0 where a slot's token may attend, minus infinity elsewhere.
    mask: Tensor,
}

impl<'a> DecodeAttention<'a> {
    /// `positions` `[slots]` of the new tokens, all of which are below `length`.
    pub(super) fn new(slots: &'a KeyValues, positions: &Tensor, length: i64) -> Result<Self> {
        let places = Places::new(slots, positions)?;
        let options = (slots.placement().kind(), slots.placement().device);
        let mask = Tensor::f_zeros([slots.rows(), length], options)?;
        let mask = mask.f_masked_fill(&places.after(length)?, f64::NEG_INFINITY)?;
        Ok(Self {
            slots,
            cached: slots.first(length)?,
            length,
            places,
            mask: mask.f_view([slots.rows(), 1, 1, length])?,
        })
    }
}

impl Attend for DecodeAttention<'_> {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        self.slots.store(layer, &self.places, key, value)?;
        let (slots, _, heads, head_dim) = query.size4()?;
        let kv_heads = self.slots.kv_heads();
        // Query heads that share a key head are treated as consecutive queries, so that keys are not repeated.
        let query = query.f_reshape([slots, kv_heads, heads / kv_heads, head_dim])?;
        let cached = &self.cached[layer];
        if !query.device().is_cuda() {
            return self.products(&query, cached);
        }
        let (keys, values, mask) = (&cached.keys, &cached.values, Some(&self.mask));
        Ok(Tensor::f_scaled_dot_product_attention(&query, keys, values, mask, 0.0, false, None, false)?)
    }
}

impl DecodeAttention<'_> {
    /// On the CPU two batched products read keys and values faster than libtorch's fused kernel, which is built for
    /// many queries.
    fn products(&self, query: &Tensor, cached: &First) -> Result<Tensor> {
        let (slots, kv_heads, queries, head_dim) = query.size4()?;
        let batch = slots * kv_heads;
        let scaled = query.f_mul_scalar(1.0 / (head_dim as f64).sqrt())?.f_reshape([batch, queries, head_dim])?;
        let scores = product(&scaled, &cached.keys_by_head)?
            .f_view([slots, kv_heads, queries, self.length])?
            .f_add(&self.mask)?;
        let values = &cached.values_by_head;
        let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(values.kind())?;
        let attended = product(&weights.f_view([batch, queries, self.length])?, values)?;
        Ok(attended.f_view([slots, kv_heads, queries, head_dim])?)
    }
}
