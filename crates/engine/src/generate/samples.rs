//! Which slots continue which prompt, and how their rows are brought together and apart again.

use tch::{Kind, Tensor};

use super::cache::KeyValues;
use super::prompts::Block;
use super::upload::{Indices, Upload, Uploaded};
use crate::error::Result;

/// Indices of rows, being prepared for the device. A slot and a key head make a row.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    /// The rows of each block's samples, `[blocks, kv_heads, most]`, padded with row 0.
    rows: Vec<i64>,
    /// Where each row is in `rows`, `[slots, kv_heads]`; 0 for an idle slot.
    places: Vec<i64>,
    /// Tokens of each slot's prompt, `[slots]`; 0 for an idle slot.
    lengths: Vec<i64>,
    /// Samples of the block that has the most.
    most: usize,
}

impl Table {
    /// `slots` are the blocks among `prompts` that the slots continue, `None` for an idle one.
    pub(super) fn new(slots: &[Option<&Block>], prompts: &KeyValues) -> Self {
        let (blocks, kv_heads) = (prompts.rows() as usize, prompts.kv_heads() as usize);
        let mut of_blocks = vec![Vec::new(); blocks];
        for (slot, block) in slots.iter().enumerate() {
            if let Some(block) = block {
                of_blocks[block.row() as usize].push(slot);
            }
        }
        let most = of_blocks.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut rows = vec![0; blocks * kv_heads * most];
        let mut places = vec![0; slots.len() * kv_heads];
        for (block, samples) in of_blocks.iter().enumerate() {
            for (index, slot) in samples.iter().enumerate() {
                for head in 0..kv_heads {
                    let (row, place) = (slot * kv_heads + head, (block * kv_heads + head) * most + index);
                    rows[place] = row as i64;
                    places[row] = place as i64;
                }
            }
        }
        let length = |block: &Option<&Block>| block.map_or(0, |block| block.length);
        Self { rows, places, lengths: slots.iter().map(length).collect(), most }
    }

    pub(super) fn add(&self, upload: &mut Upload) -> TableParts {
        TableParts {
            rows: upload.indices(&self.rows),
            places: upload.indices(&self.places),
            lengths: upload.indices(&self.lengths),
            most: self.most as i64,
        }
    }
}

/// A [`Table`] in a step's upload.
#[derive(Debug)]
pub(super) struct TableParts {
    rows: Indices,
    places: Indices,
    lengths: Indices,
    most: i64,
}

/// A [`Table`] on the device.
#[derive(Debug)]
pub(super) struct Samples {
    rows: Tensor,
    places: Tensor,
    lengths: Tensor,
    most: i64,
}

impl Samples {
    pub(super) fn new(parts: &TableParts, uploaded: &Uploaded) -> Result<Self> {
        Ok(Self {
            rows: uploaded.indices(parts.rows)?,
            places: uploaded.indices(parts.places)?,
            lengths: uploaded.indices(parts.lengths)?,
            most: parts.most,
        })
    }

    /// Brings the samples of each block together: `[slots · kv_heads, queries, width]` to `[blocks · kv_heads,
    /// most · queries, width]`.
    pub(super) fn gather(&self, x: &Tensor) -> Result<Tensor> {
        let (_, queries, width) = x.size3()?;
        Ok(x.f_index_select(0, &self.rows)?.f_view([-1, self.most * queries, width])?)
    }

    /// The reverse of [`Self::gather`].
    pub(super) fn scatter(&self, x: &Tensor, queries: i64) -> Result<Tensor> {
        let (_, _, width) = x.size3()?;
        Ok(x.f_view([-1, queries, width])?.f_index_select(0, &self.places)?)
    }

    /// The same into `out` `[slots · kv_heads, queries, width]`.
    pub(super) fn scatter_to(&self, out: &Tensor, x: &Tensor) -> Result<()> {
        let (_, queries, width) = out.size3()?;
        let _ = x.f_view([-1, queries, width])?.f_index_select_out(out, 0, &self.places)?;
        Ok(())
    }

    /// Which of `length` positions come after the end of a slot's prompt, `[slots, length]`.
    pub(super) fn beyond(&self, length: i64) -> Result<Tensor> {
        let positions = Tensor::f_arange(length, (Kind::Int64, self.lengths.device()))?;
        Ok(positions.f_unsqueeze(0)?.f_ge_tensor(&self.lengths.f_unsqueeze(1)?)?)
    }
}
