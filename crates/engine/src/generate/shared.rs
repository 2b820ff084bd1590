//! Attention of a decoding step, if each prompt is held once for all its samples.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::cache::{First, KeyValues, KvCache, Places};
use super::prompts::{Block, PromptBlocks};
use super::samples::{Samples, Table, TableParts};
use super::upload::{Indices, Upload, Uploaded};
use crate::error::Result;
use crate::model::Attend;
use crate::product::{product_in_fp32, write_product_in_fp32};

/// Attention of one new token per slot to its prompt's keys, with the queries of all samples of a prompt in one product, and
/// to the slot's own. Both have one softmax.
pub(super) struct SharedAttention<'a> {
    slots: &'a KeyValues,
    own: Part,
    prompts: Part,
    places: Places,
    samples: Samples,
    /// Attention mask `[slots, 1, 1, prompts.length + slots.length]`: 0 where a slot's token may attend, minus infinity
    /// elsewhere.
    mask: Tensor,
}

/// Keys and values, and the number of positions to attend to.
struct Part {
    cached: Rc<[First]>,
    length: i64,
}

/// What it needs from the host, in a step's upload.
pub(super) struct SharedParts {
    positions: Indices,
    table: TableParts,
    /// Positions that slots need room for, the new one included.
    pub(super) length: i64,
}

impl SharedParts {
    /// Adds it to `upload`. `slots` are the blocks that the slots continue and how many tokens of their own they hold, `None`
    /// for an idle slot.
    pub(super) fn add(slots: &[Option<(&Block, i64)>], prompts: &PromptBlocks, upload: &mut Upload) -> Self {
        let positions: Vec<i64> = slots.iter().map(|slot| slot.map_or(0, |(_, own)| own)).collect();
        let blocks: Vec<Option<&Block>> = slots.iter().map(|slot| slot.map(|(block, _)| block)).collect();
        Self {
            positions: upload.indices(&positions),
            table: Table::new(&blocks, &prompts.key_values).add(upload),
            length: positions.iter().max().map_or(1, |position| position + 1),
        }
    }
}

impl<'a> SharedAttention<'a> {
    /// `cache` has room for `parts.length` positions in every slot.
    pub(super) fn new(
        cache: &'a KvCache,
        prompts: &'a PromptBlocks,
        parts: &SharedParts,
        uploaded: &Uploaded,
    ) -> Result<Self> {
        let part = |key_values: &KeyValues, length| -> Result<Part> {
            let length = cache.rounding.attention(length);
            let cached = key_values.first(length)?;
            Ok(Part { cached, length })
        };
        let own = part(&cache.slots, parts.length)?;
        let prompts = part(&prompts.key_values, prompts.longest())?;
        let places = Places::new(&cache.slots, &uploaded.indices(parts.positions)?)?;
        let samples = Samples::new(&parts.table, uploaded)?;
        let hidden = Tensor::f_cat(&[samples.beyond(prompts.length)?, places.after(own.length)?], 1)?;
        let (rows, width) = hidden.size2()?;
        let mask = Tensor::f_zeros([rows, width], (Kind::Float, hidden.device()))?;
        let mask = mask.f_masked_fill(&hidden, f64::NEG_INFINITY)?;
        Ok(Self { slots: &cache.slots, own, prompts, places, samples, mask: mask.f_view([rows, 1, 1, width])? })
    }
}

impl Attend for SharedAttention<'_> {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        self.slots.store(layer, &self.places, key, value)?;
        let (slots, _, heads, head_dim) = query.size4()?;
        let kv_heads = self.slots.kv_heads();
        // Query heads that share a key head are treated as consecutive queries, so that keys are not repeated.
        let [rows, queries] = [slots * kv_heads, heads / kv_heads];
        let query = query.f_mul_scalar(1.0 / (head_dim as f64).sqrt())?.f_reshape([rows, queries, head_dim])?;
        let (own, prompts) = (&self.own.cached[layer], &self.prompts.cached[layer]);

        let to_prompts = product_in_fp32(&self.samples.gather(&query)?, &prompts.keys_by_head)?;
        let width = self.prompts.length + self.own.length;
        let scores = Tensor::f_empty([rows, queries, width], (Kind::Float, query.device()))?;
        let of_prompts = scores.f_narrow(2, 0, self.prompts.length)?;
        self.samples.scatter_to(&of_prompts, &to_prompts)?;
        let mut of_own = scores.f_narrow(2, self.prompts.length, self.own.length)?;
        write_product_in_fp32(&query, &own.keys_by_head, &mut of_own)?;
        let scores = scores.f_view([slots, kv_heads, queries, width])?.f_add_(&self.mask)?;

        let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(query.kind())?.f_view([rows, queries, width])?;
        let of_prompts = weights.f_narrow(2, 0, self.prompts.length)?;
        let of_own = weights.f_narrow(2, self.prompts.length, self.own.length)?;
        let from_prompts = product_in_fp32(&self.samples.gather(&of_prompts)?, &prompts.values_by_head)?;
        let attended =
            product_in_fp32(&of_own, &own.values_by_head)?.f_add_(&self.samples.scatter(&from_prompts, queries)?)?;
        Ok(attended.f_to_kind(query.kind())?.f_view([slots, kv_heads, queries, head_dim])?)
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::super::GenerationOptions;
    use super::super::cache::tests::config;
    use super::super::prompts::Passed;
    use super::*;
    use crate::device::Placement;
    use crate::generate::cache::Rounding;
    use crate::generate::step::DecodeAttention;

    const HEADS: i64 = 6;
    const KV_HEADS: i64 = 2;
    const PROMPTS: [i64; 3] = [5, 70, 1];
    /// The prompt of each slot, and how many tokens of its own it holds; one slot is idle.
    const SLOTS: [Option<(usize, i64)>; 6] =
        [Some((1, 3)), None, Some((0, 0)), Some((1, 66)), Some((2, 9)), Some((1, 0))];

    fn random(shape: &[i64]) -> Tensor {
        Tensor::randn(shape, (Kind::Float, Device::Cpu))
    }

    /// A layer of whole sequences and the same one with shared prompts give the same, whatever lengths are rounded to.
    #[test]
    fn shared_and_copied_prompts_are_attended_to_alike() {
        tch::manual_seed(3);
        let slots = SLOTS.len() as i64;
        let new = |share_prompts, rounding| {
            let options = GenerationOptions { share_prompts, ..GenerationOptions::default() };
            let mut cache =
                KvCache::new(&config(HEADS, KV_HEADS), Placement::REFERENCE, (slots, 200), &options).unwrap();
            cache.rounding = rounding;
            cache
        };
        let pass = vec![(random(&[3, KV_HEADS, 70, 8]), random(&[3, KV_HEADS, 70, 8]))];
        let own = vec![(random(&[slots, KV_HEADS, 66, 8]), random(&[slots, KV_HEADS, 66, 8]))];
        let (query, key, value) =
            (random(&[slots, 1, HEADS, 8]), random(&[slots, 1, KV_HEADS, 8]), random(&[slots, 1, KV_HEADS, 8]));
        let busy = Tensor::from_slice(&[0i64, 2, 3, 4, 5]);
        let mut found = Vec::new();
        for rounding in [Rounding::CPU, Rounding::GPU] {
            let mut copied = new(false, rounding);
            copied.reserve(137).unwrap();
            for (slot, held) in SLOTS.iter().enumerate() {
                let Some((prompt, count)) = *held else { continue };
                let part = pass[0].0.get(prompt as i64).narrow(1, 0, PROMPTS[prompt]);
                let values = pass[0].1.get(prompt as i64).narrow(1, 0, PROMPTS[prompt]);
                let with_own = |prompt: &Tensor, own: &Tensor| {
                    Tensor::cat(&[prompt, &own.get(slot as i64).narrow(1, 0, count)], 1).unsqueeze(0)
                };
                let whole = vec![(with_own(&part, &own[0].0), with_own(&values, &own[0].1))];
                copied.slots.fill_part(&whole, (0, 0, PROMPTS[prompt] + count), slot as i64).unwrap();
            }
            let positions = SLOTS.map(|slot| slot.map_or(0, |(prompt, own)| PROMPTS[prompt] + own));
            let length = rounding.attention(137);
            let attention = DecodeAttention::new(&copied.slots, &Tensor::from_slice(&positions), length).unwrap();
            found.push(attention.attend(0, &query, &key, &value).unwrap());

            let mut cache = new(true, rounding);
            cache.reserve_prompts(3, 70).unwrap();
            cache.reserve(67).unwrap();
            let prompts =
                [0, 1, 2].map(|prompt| Passed { request: prompt, length: PROMPTS[prompt], row: prompt as i64 });
            let blocks = cache.prompts.as_mut().unwrap().hold(&pass, &prompts).unwrap();
            for (slot, held) in SLOTS.iter().enumerate() {
                let Some((_, count)) = *held else { continue };
                cache.slots.fill_part(&own, (slot as i64, 0, count), slot as i64).unwrap();
            }
            let held = SLOTS.map(|slot| slot.map(|(prompt, own)| (blocks[prompt].as_ref(), own)));
            let mut upload = Upload::default();
            let prompts = cache.prompts.as_ref().unwrap();
            let parts = SharedParts::add(&held, prompts, &mut upload);
            assert_eq!(parts.length, 67);
            let uploaded = upload.send(Device::Cpu).unwrap();
            let attention = SharedAttention::new(&cache, prompts, &parts, &uploaded).unwrap();
            let width = attention.prompts.length + attention.own.length;
            assert_eq!(width, rounding.attention(70) + rounding.attention(67));
            let attended = attention.attend(0, &query, &key, &value).unwrap();
            assert!(bool::try_from(attended.isfinite().all()).unwrap());
            found.push(attended);
        }
        for other in &found[1..] {
            let apart = (found[0].index_select(0, &busy) - other.index_select(0, &busy)).abs().max();
            assert!(f64::try_from(apart).unwrap() < 1e-5);
        }
    }
}
