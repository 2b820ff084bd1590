//! Keys and values of several rows, with room for equally many positions in each.

use tch::{Kind, Tensor};

use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::Result;

/// Keys and values of each layer, `[rows, kv_heads, positions, head_dim]`.
pub(super) type Layers = Vec<(Tensor, Tensor)>;

/// Per layer keys and values `[rows, kv_heads, capacity, head_dim]`.
#[derive(Debug)]
pub(super) struct KeyValues {
    layers: Layers,
    rows: i64,
    capacity: i64,
    kv_heads: i64,
    head_dim: i64,
    placement: Placement,
}

impl KeyValues {
    /// `rows` rows without room for any position.
    pub(super) fn new(config: &ModelConfig, placement: Placement, rows: i64) -> Result<Self> {
        let empty = || Tensor::f_zeros([0], (placement.kind(), placement.device));
        let layers = (0..config.num_hidden_layers).map(|_| Ok((empty()?, empty()?)));
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
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
        for (keys, values) in &mut self.layers {
            (*keys, *values) = (grown(keys)?, grown(values)?);
        }
        (self.rows, self.capacity) = (rows, capacity);
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
        self.capacity = self.capacity.min(capacity);
        let kept = |x: &Tensor| -> Result<Tensor> { Ok(x.f_narrow(2, 0, self.capacity)?.f_index_select(0, rows)?) };
        for (keys, values) in &mut self.layers {
            (*keys, *values) = (kept(keys)?, kept(values)?);
        }
        Ok(())
    }

    /// Stores a new token's `key` and `value`, `[rows, 1, kv_heads, head_dim]`.
    pub(super) fn store(&self, layer: usize, places: &Places, key: &Tensor, value: &Tensor) -> Result<()> {
        let (keys, values) = &self.layers[layer];
        let place = [
            Some(&places.row_index),
            Some(&places.head_index),
            Some(&places.positions),
        ];
        for (here, new) in [(keys, key), (values, value)] {
            let _ = here
                .shallow_clone()
                .f_index_put_(&place, &new.f_squeeze_dim(1)?, false)?;
        }
        Ok(())
    }

    /// A layer's keys and values of the first `length` positions, `[rows, kv_heads, length, head_dim]`: views, because this is
    /// most of the memory a step reads.
    pub(super) fn first(&self, layer: usize, length: i64) -> Result<(Tensor, Tensor)> {
        let (keys, values) = &self.layers[layer];
        Ok((keys.f_narrow(2, 0, length)?, values.f_narrow(2, 0, length)?))
    }

    fn tensors<'a>(&'a self, pass: &'a Layers) -> impl Iterator<Item = (&'a Tensor, &'a Tensor)> {
        let pairs = self.layers.iter().zip(pass);
        pairs.flat_map(|((keys, values), (new_keys, new_values))| [(keys, new_keys), (values, new_values)])
    }
}

/// Where each row's new token is stored.
#[derive(Debug)]
pub(super) struct Places {
    row_index: Tensor,
    head_index: Tensor,
    /// `[rows, 1]`
    positions: Tensor,
}

impl Places {
    /// `positions` `[rows]` in the rows of `of`.
    pub(super) fn new(of: &KeyValues, positions: &Tensor) -> Result<Self> {
        let index = (Kind::Int64, of.placement.device);
        Ok(Self {
            row_index: Tensor::f_arange(of.rows, index)?.f_unsqueeze(1)?,
            head_index: Tensor::f_arange(of.kv_heads, index)?.f_unsqueeze(0)?,
            positions: positions.f_unsqueeze(1)?,
        })
    }

    /// Which of the first `length` positions come after a row's new token, `[rows, length]`.
    pub(super) fn after(&self, length: i64) -> Result<Tensor> {
        let positions = Tensor::f_arange(length, (Kind::Int64, self.positions.device()))?;
        Ok(positions.f_unsqueeze(0)?.f_gt_tensor(&self.positions)?)
    }
}
