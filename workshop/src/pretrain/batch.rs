//! Samples packed into rows of equal length.

use lyceum_engine::config::ModelConfig;
use lyceum_engine::device::Placement;
use lyceum_engine::error::Result;
use lyceum_engine::model::Attend;
use tch::{Kind, Tensor};

use super::sample::PackedSample;

/// Rows being filled.
#[derive(Debug)]
pub struct RowPacker {
    length: usize,
    rows: Vec<Vec<PackedSample>>,
    used: Vec<usize>,
}

impl RowPacker {
    /// The given number of rows, each of `length` tokens.
    pub fn new(rows: usize, length: usize) -> Self {
        Self { length, rows: vec![Vec::new(); rows], used: vec![0; rows] }
    }

    /// Puts a sample into the first row that has room for it; returns it if none has.
    pub fn push(&mut self, sample: PackedSample) -> std::result::Result<(), PackedSample> {
        let tokens = sample.tokens();
        match self.used.iter().position(|used| used + tokens <= self.length) {
            Some(row) => {
                self.used[row] += tokens;
                self.rows[row].push(sample);
                Ok(())
            }
            None => Err(sample),
        }
    }

    /// Tokens in all rows.
    pub fn tokens(&self) -> usize {
        self.used.iter().sum()
    }

    /// The rows as tensors.
    pub fn finish(self, config: &ModelConfig, placement: Placement) -> Result<PackedBatch> {
        PackedBatch::new(&self.rows, self.length, config, placement)
    }
}

/// Rows as tensors: R rows of L positions.
#[derive(Debug)]
pub struct PackedBatch {
    /// `[R, L]`; 0 for padding.
    pub(super) ids: Tensor,
    /// The position of each token in its own sample, `[R, L]`: all continuations begin where the prefix ends.
    pub(super) positions: Tensor,
    /// The largest position, plus one.
    pub(super) longest: i64,
    /// Attention mask `[R, 1, L, L]`: 0 where one token of a row may attend to another, −∞ elsewhere.
    pub(super) mask: Tensor,
    /// Positions (of R · L) that predict a token with a weight, `[C]`.
    pub(super) predicting: Tensor,
    /// The predicted tokens, `[C]`.
    pub(super) targets: Tensor,
    /// Their weights, `[C]`, fp32.
    pub(super) weights: Tensor,
    /// The sum of the weights.
    pub(super) total_weight: f64,
    /// Tokens without padding.
    pub tokens: usize,
}

/// The sample and continuation that a position belongs to; 0 means no sample, or the prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    sample: u32,
    branch: u32,
}

impl PackedBatch {
    fn new(rows: &[Vec<PackedSample>], length: usize, config: &ModelConfig, placement: Placement) -> Result<Self> {
        let places = rows.len() * length;
        let (mut ids, mut positions) = (vec![0i64; places], vec![0i64; places]);
        let mut mask = vec![f32::NEG_INFINITY; places * length];
        let (mut predicting, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut tokens = 0;
        for (row, samples) in rows.iter().enumerate() {
            let start = row * length;
            let mut owners = vec![Owner { sample: 0, branch: 0 }; length];
            let mut at = 0;
            for (number, sample) in (1..).zip(samples) {
                sample.check(config.vocab_size, config.max_position_embeddings)?;
                let parts = std::iter::once(&sample.prefix).chain(&sample.branches);
                for (branch, part) in (0..).zip(parts) {
                    let first = if branch == 0 { 0 } else { sample.prefix.ids.len() };
                    for (place, (&id, &weight)) in part.ids.iter().zip(&part.weights).enumerate() {
                        ids[start + at] = id;
                        positions[start + at] = (first + place) as i64;
                        owners[at] = Owner { sample: number, branch };
                        if weight > 0.0 && place > 0 {
                            predicting.push((start + at - 1) as i64);
                            targets.push(id);
                            weights.push(weight);
                        }
                        at += 1;
                    }
                }
            }
            tokens += at;
            for (place, owner) in owners.iter().enumerate() {
                let seen = &mut mask[(start + place) * length..][..length];
                // Padding attends to itself, as a softmax over nothing would be NaN.
                seen[place] = 0.0;
                if owner.sample == 0 {
                    continue;
                }
                for (other, before) in owners[..place].iter().enumerate() {
                    if before.sample == owner.sample && (before.branch == 0 || before.branch == owner.branch) {
                        seen[other] = 0.0;
                    }
                }
            }
        }
        let shape = [rows.len() as i64, length as i64];
        let index =
            |values: &[i64]| -> Result<Tensor> { Ok(Tensor::f_from_slice(values)?.f_to_device(placement.device)?) };
        Ok(Self {
            ids: index(&ids)?.f_view(shape)?,
            positions: index(&positions)?.f_view(shape)?,
            longest: positions.iter().copied().max().unwrap_or(0) + 1,
            mask: Tensor::f_from_slice(&mask)?
                .f_view([shape[0], 1, shape[1], shape[1]])?
                .f_to_device(placement.device)?
                .f_to_kind(placement.kind())?,
            predicting: index(&predicting)?,
            targets: index(&targets)?,
            total_weight: weights.iter().map(|&weight| f64::from(weight)).sum(),
            weights: Tensor::f_from_slice(&weights)?.f_to_device(placement.device)?.f_to_kind(Kind::Float)?,
            tokens,
        })
    }
}

/// Each token attends to the tokens allowed by its row's mask.
#[derive(Debug)]
pub(super) struct MaskedAttention<'a> {
    /// 0 or −∞, `[R, 1, L, L]`.
    pub(super) mask: &'a Tensor,
}

impl Attend for MaskedAttention<'_> {
    fn attend(&self, _layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let (rows, length, heads, head_dim) = query.size4()?;
        let attended = Tensor::f_scaled_dot_product_attention(
            &query.f_transpose(1, 2)?,
            &key.f_transpose(1, 2)?,
            &value.f_transpose(1, 2)?,
            Some(self.mask),
            0.0,
            false,
            None,
            heads != key.size()[2],
        )?;
        Ok(attended.f_transpose(1, 2)?.f_reshape([rows, length, heads * head_dim])?)
    }
}
