//! Keys and values: of several rows, with room for equally many positions in each; of a prefill pass; and of the sequences in
//! flight, one slot per row of the decoding batch, and the prompts if they are shared.

use std::cell::RefCell;
use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use super::GenerationOptions;
use super::prompts::PromptBlocks;
use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::model::{Attend, CausalAttention};

/// Keys and values of everything in flight.
#[derive(Debug)]
pub(super) struct KvCache {
    /// Whole sequences, or only their new tokens if prompts are shared.
    pub(super) slots: KeyValues,
    pub(super) prompts: Option<PromptBlocks>,
    pub(super) rounding: Rounding,
    /// Positions of the longest sequence a slot will hold, in whole steps.
    most: i64,
    /// Memory limit of the cache in bytes; `None` leaves the limit to the device.
    budget: Option<u64>,
}

impl KvCache {
    /// For `slots` sequences, of which a slot will hold at most `longest` positions.
    pub(super) fn new(
        config: &ModelConfig,
        placement: Placement,
        (slots, longest): (i64, i64),
        options: &GenerationOptions,
    ) -> Result<Self> {
        let rounding = Rounding::of(placement.device);
        let prompts = options.share_prompts.then(|| PromptBlocks::new(config, placement, rounding));
        Ok(Self {
            slots: KeyValues::new(config, placement, slots)?,
            prompts: prompts.transpose()?,
            rounding,
            most: rounding.capacity(longest),
            budget: options.cache_bytes,
        })
    }

    /// Makes room for `length` positions in every slot; stored values are kept.
    pub(super) fn reserve(&mut self, length: i64) -> Result<()> {
        let (slots, used) = (self.slots.rows(), self.slots.capacity());
        if length <= used {
            return Ok(());
        }
        // Growing by half keeps the number of copies logarithmic.
        let half_more = self.rounding.capacity(used + used / 2).min(self.most);
        let capacity = self.rounding.capacity(length).max(half_more);
        let prompts = self.prompts.as_ref().map(|prompts| &prompts.key_values);
        self.check_budget((slots, capacity), prompts.map_or((0, 0), |prompts| (prompts.rows(), prompts.capacity())))?;
        self.slots.grow(slots, capacity)
    }

    /// Makes room for `more` prompts of at most `longest` tokens, if prompts are shared.
    pub(super) fn reserve_prompts(&mut self, more: usize, longest: i64) -> Result<()> {
        let Some(prompts) = &self.prompts else { return Ok(()) };
        let (rows, capacity) = prompts.needed(more, longest);
        if (rows, capacity) == (prompts.key_values.rows(), prompts.key_values.capacity()) {
            return Ok(());
        }
        let slots = (self.slots.rows(), self.slots.capacity());
        self.check_budget(slots, (rows, capacity))?;
        match &mut self.prompts {
            Some(prompts) => prompts.grow(rows, capacity),
            None => Ok(()),
        }
    }

    /// Copies a prompt's keys and values into slots: slot `slots[i]` receives row `rows[i]` of `pass`.
    pub(super) fn fill(&mut self, pass: &Layers, rows: &Tensor, slots: &Tensor) -> Result<()> {
        self.reserve(pass.first().map_or(0, |(keys, _)| keys.size()[2]))?;
        self.slots.fill(pass, rows, slots)
    }

    /// Keeps only these slots, in this order, and the prompts that are still needed.
    pub(super) fn keep(&mut self, slots: &Tensor) -> Result<()> {
        self.slots.keep(slots, self.slots.capacity())?;
        self.prompts.as_mut().map_or(Ok(()), PromptBlocks::compact)
    }

    /// Refuses more than the budget for these slots and prompts, each with its capacity.
    fn check_budget(&self, (slots, capacity): (i64, i64), (prompts, length): (i64, i64)) -> Result<()> {
        let bytes = self.slots.bytes(slots, capacity) + self.slots.bytes(prompts, length);
        let Some(budget) = self.budget.filter(|&budget| bytes > budget) else { return Ok(()) };
        let besides = match prompts {
            0 => String::new(),
            _ => format!(" and {prompts} prompts of {length}"),
        };
        Err(EngineError::CacheLimit(format!(
            "a cache of {slots} slots of {capacity} tokens{besides} takes {bytes} bytes of {budget}"
        )))
    }
}

/// Keys and values of each layer, `[rows, kv_heads, positions, head_dim]`.
pub(super) type Layers = Vec<(Tensor, Tensor)>;

/// Per layer keys and values `[rows, kv_heads, capacity, head_dim]`.
#[derive(Debug)]
pub(super) struct KeyValues {
    layers: Layers,
    /// The same, `[rows · kv_heads · capacity, head_dim]`, for new tokens.
    places: Layers,
    /// The first N positions of each layer, from one step to the next.
    first: RefCell<Option<(i64, Rc<[First]>)>>,
    rows: i64,
    capacity: i64,
    kv_heads: i64,
    head_dim: i64,
    placement: Placement,
}

/// Views of a layer's keys and values up to some position.
#[derive(Debug)]
pub(super) struct First {
    /// `[rows, kv_heads, length, head_dim]`
    pub(super) keys: Tensor,
    pub(super) values: Tensor,
    /// `[rows · kv_heads, head_dim, length]`
    pub(super) keys_by_head: Tensor,
    /// `[rows · kv_heads, length, head_dim]`
    pub(super) values_by_head: Tensor,
}

impl KeyValues {
    /// `rows` rows without room for any position.
    pub(super) fn new(config: &ModelConfig, placement: Placement, rows: i64) -> Result<Self> {
        let empty = || Tensor::f_zeros([0], (placement.kind(), placement.device));
        let layers = (0..config.num_hidden_layers).map(|_| Ok((empty()?, empty()?)));
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
            places: Vec::new(),
            first: RefCell::default(),
            rows,
            capacity: 0,
            kv_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
            placement,
        })
    }

    pub(super) fn rows(&self) -> i64 {
        self.rows
    }

    /// Positions that each row has room for.
    pub(super) fn capacity(&self) -> i64 {
        self.capacity
    }

    pub(super) fn kv_heads(&self) -> i64 {
        self.kv_heads
    }

    pub(super) fn placement(&self) -> Placement {
        self.placement
    }

    /// Bytes that this many rows with this capacity take.
    pub(super) fn bytes(&self, rows: i64, capacity: i64) -> u64 {
        let numbers = rows * self.kv_heads * capacity * self.head_dim;
        2 * self.layers.len() as u64 * numbers as u64 * self.placement.dtype.bytes()
    }

    /// Makes room for at least as many rows and positions as before; stored values are kept.
    pub(super) fn grow(&mut self, rows: i64, capacity: i64) -> Result<()> {
        let shape = [rows, self.kv_heads, capacity, self.head_dim];
        let options = (self.placement.kind(), self.placement.device);
        let (used_rows, used) = (self.rows, self.capacity);
        let grown = |old: &Tensor| -> Result<Tensor> {
            let new = Tensor::f_zeros(shape, options)?;
            if used > 0 {
                new.f_narrow(0, 0, used_rows)?.f_narrow(2, 0, used)?.f_copy_(old)?;
            }
            Ok(new)
        };
        self.replace(grown)?;
        (self.rows, self.capacity) = (rows, capacity);
        Ok(())
    }

    /// Replaces each layer's keys and values, one after the other, so that no more than one is held twice: before, the views
    /// are dropped, which would keep all of them.
    fn replace(&mut self, new: impl Fn(&Tensor) -> Result<Tensor>) -> Result<()> {
        self.first.take();
        self.places.clear();
        for (keys, values) in &mut self.layers {
            (*keys, *values) = (new(keys)?, new(values)?);
        }
        let flat = |x: &Tensor| x.f_view([-1, self.head_dim]);
        let places = self.layers.iter().map(|(keys, values)| Ok((flat(keys)?, flat(values)?)));
        self.places = places.collect::<Result<_>>()?;
        Ok(())
    }

    /// Copies rows of a prefill pass from position 0 on: row `rows[i]` receives row `sources[i]` of `pass`, as far as there
    /// is room.
    pub(super) fn fill(&mut self, pass: &Layers, sources: &Tensor, rows: &Tensor) -> Result<()> {
        for (here, there) in self.tensors(pass) {
            let length = there.size()[2].min(self.capacity);
            let source = there.f_narrow(2, 0, length)?.f_index_select(0, sources)?;
            let _ = here.f_narrow(2, 0, length)?.f_index_copy_(0, rows, &source)?;
        }
        Ok(())
    }

    /// Copies `count` positions of row `source` of a prefill pass, from position `start` on, to the first of `row`.
    pub(super) fn fill_part(&mut self, pass: &Layers, (source, start, count): (i64, i64, i64), row: i64) -> Result<()> {
        for (here, there) in self.tensors(pass) {
            let part = there.f_select(0, source)?.f_narrow(1, start, count)?;
            here.f_select(0, row)?.f_narrow(1, 0, count)?.f_copy_(&part)?;
        }
        Ok(())
    }

    /// Keeps only these rows, in this order, and no more than `capacity` positions.
    pub(super) fn keep(&mut self, rows: &Tensor, capacity: i64) -> Result<()> {
        self.rows = rows.size()[0];
        if self.capacity == 0 {
            return Ok(());
        }
        let capacity = self.capacity.min(capacity);
        self.capacity = capacity;
        self.replace(|x| Ok(x.f_narrow(2, 0, capacity)?.f_index_select(0, rows)?))
    }

    /// Stores a new token's `key` and `value`, `[rows, 1, kv_heads, head_dim]`.
    pub(super) fn store(&self, layer: usize, places: &Places, key: &Tensor, value: &Tensor) -> Result<()> {
        let (keys, values) = &self.places[layer];
        for (here, new) in [(keys, key), (values, value)] {
            let _ = here.shallow_clone().f_index_put_(&[Some(&places.index)], new, false)?;
        }
        Ok(())
    }

    /// Each layer's keys and values of the first `length` positions: views, because this is most of the memory a step reads.
    /// They are kept until another length is asked for, since making them takes a GPU's host longer than some products.
    pub(super) fn first(&self, length: i64) -> Result<Rc<[First]>> {
        let mut kept = self.first.borrow_mut();
        if let Some((_, first)) = kept.as_ref().filter(|(of, _)| *of == length) {
            return Ok(Rc::clone(first));
        }
        let first = self.layers.iter().map(|(keys, values)| {
            let (keys, values) = (keys.f_narrow(2, 0, length)?, values.f_narrow(2, 0, length)?);
            let by_head = [self.rows * self.kv_heads, length, self.head_dim];
            Ok(First {
                keys_by_head: keys.f_view(by_head)?.f_transpose(1, 2)?,
                values_by_head: values.f_view(by_head)?,
                keys,
                values,
            })
        });
        let first: Rc<[First]> = first.collect::<Result<_>>()?;
        *kept = Some((length, Rc::clone(&first)));
        Ok(first)
    }

    fn tensors<'a>(&'a self, pass: &'a Layers) -> impl Iterator<Item = (&'a Tensor, &'a Tensor)> {
        let pairs = self.layers.iter().zip(pass);
        pairs.flat_map(|((keys, values), (new_keys, new_values))| [(keys, new_keys), (values, new_values)])
    }
}

/// Where each row's new token is stored.
#[derive(Debug)]
pub(super) struct Places {
    /// Among the positions of all rows and heads, `[rows, 1, kv_heads]`.
    index: Tensor,
    /// `[rows, 1]`
    positions: Tensor,
}

impl Places {
    /// `positions` `[rows]` in the rows of `of`.
    pub(super) fn new(of: &KeyValues, positions: &Tensor) -> Result<Self> {
        let heads = Tensor::f_arange(of.rows * of.kv_heads, (Kind::Int64, of.placement.device))?;
        let starts = heads.f_mul_scalar(of.capacity)?.f_view([of.rows, 1, of.kv_heads])?;
        Ok(Self { index: starts.f_add(&positions.f_view([-1, 1, 1])?)?, positions: positions.f_unsqueeze(1)? })
    }

    /// Which of the first `length` positions come after a row's new token, `[rows, length]`.
    pub(super) fn after(&self, length: i64) -> Result<Tensor> {
        let positions = Tensor::f_arange(length, (Kind::Int64, self.positions.device()))?;
        Ok(positions.f_unsqueeze(0)?.f_gt_tensor(&self.positions)?)
    }
}

/// Keys and values of a prefill pass, `[prompts, kv_heads, length, head_dim]` per layer.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    layers: RefCell<Vec<(Tensor, Tensor)>>,
}

impl PromptCache {
    /// Keys and values of each layer.
    pub(super) fn into_layers(self) -> Vec<(Tensor, Tensor)> {
        self.layers.into_inner()
    }
}

impl Attend for PromptCache {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        // Copied, because views would keep the whole joint projection alive.
        let kept = |x: &Tensor| -> Result<Tensor> { Ok(x.f_transpose(1, 2)?.f_contiguous()?) };
        self.layers.borrow_mut().push((kept(key)?, kept(value)?));
        CausalAttention.attend(layer, query, key, value)
    }
}

/// What lengths are rounded up to, in positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    capacity: i64,
    attention: i64,
}

impl Rounding {
    pub(super) const CPU: Self = Self { capacity: 64, attention: 1 };
    /// libtorch may plan a kernel for each new shape, so that attention to one more position in each step is slow.
    pub(super) const GPU: Self = Self { capacity: 128, attention: 128 };

    pub(super) fn of(device: Device) -> Self {
        if device.is_cuda() { Self::GPU } else { Self::CPU }
    }

    /// Positions to have room for if `positions` are needed.
    pub(super) fn capacity(self, positions: i64) -> i64 {
        up(positions, self.capacity)
    }

    /// Positions to attend to if `positions` are in use; at most the capacity for them.
    pub(super) fn attention(self, positions: i64) -> i64 {
        up(positions, self.attention)
    }
}

fn up(positions: i64, step: i64) -> i64 {
    (positions + step - 1) / step * step
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Architecture;

    /// One layer with `heads` heads of eight, which share `kv_heads` key heads.
    pub(in crate::generate) fn config(heads: i64, kv_heads: i64) -> ModelConfig {
        ModelConfig {
            architecture: Architecture::Qwen2,
            vocab_size: 8,
            hidden_size: 8 * heads,
            intermediate_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim: 8,
            max_position_embeddings: 1024,
            rms_norm_eps: 1e-6,
            rope_theta: 1e4,
            rope_scaling: None,
            tie_word_embeddings: true,
            attention_bias: true,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        }
    }

    #[test]
    fn capacity_grows_by_half_and_not_beyond_the_longest_sequence() {
        let options = GenerationOptions::default();
        let mut cache = KvCache::new(&config(1, 1), Placement::REFERENCE, (2, 420), &options).unwrap();
        let mut capacities = Vec::new();
        for length in [100, 129, 193, 321, 420] {
            cache.reserve(length).unwrap();
            capacities.push(cache.slots.capacity());
        }
        assert_eq!(capacities, [128, 192, 320, 448, 448]);
    }

    #[test]
    fn a_gpu_attends_to_whole_steps_and_a_cpu_to_what_is_in_use() {
        let lengths = [0, 1, 64, 65, 128, 129];
        assert_eq!(lengths.map(|length| Rounding::of(Device::Cpu).attention(length)), lengths);
        let gpu = Rounding::of(Device::Cuda(0));
        assert_eq!(lengths.map(|length| gpu.attention(length)), [0, 128, 128, 128, 128, 256]);
    }

    #[test]
    fn what_is_attended_to_has_room() {
        for rounding in [Rounding::CPU, Rounding::GPU] {
            assert!((0..1000).all(|length| rounding.attention(length) <= rounding.capacity(length)));
        }
        assert_eq!(Rounding::CPU.capacity(65), 128);
        assert_eq!(Rounding::GPU.capacity(129), 256);
    }
}
