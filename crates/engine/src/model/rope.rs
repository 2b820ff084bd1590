//! Rotary position embedding (Su et al. 2021), in the half-split form used by the checkpoints.

use std::f64::consts::PI;

use lyceum_kernels::attention::Rotation;
use tch::{Kind, Tensor};

use crate::config::{Llama3Rope, ModelConfig};
use crate::device::Placement;
use crate::error::Result;
use crate::host;

/// Cosines and signed sines for the tokens of a batch, broadcast over heads.
#[derive(Debug)]
pub struct RopeTables {
    /// `[sequences or 1, length, 1, head_dim]`
    cos: Tensor,
    /// The same shape; negative in the first half, so that a rotation is `x · cos + swapped(x) · sin`.
    sin: Tensor,
}

/// The share of a frequency, in radians a token, that is left when a rotary embedding is stretched: transformers'
/// `_compute_llama3_parameters`.
fn kept(rope: &Llama3Rope, frequency: f64) -> f64 {
    let periods = rope.original_max_position_embeddings * frequency / (2.0 * PI);
    let (low, high) = (rope.low_freq_factor, rope.high_freq_factor);
    let smooth = ((periods - low) / (high - low)).clamp(0.0, 1.0);
    (1.0 - smooth) / rope.factor + smooth
}

impl RopeTables {
    /// Tables for positions `0..length`, shape `[1, length, 1, head_dim]`.
    pub fn new(config: &ModelConfig, length: i64, placement: Placement) -> Result<Self> {
        let fp32 = (Kind::Float, placement.device);
        let exponents = Tensor::f_arange_start_step(0, config.head_dim, 2, fp32)?.f_div_scalar(config.head_dim)?;
        let mut frequencies = Tensor::f_pow_scalar(config.rope_theta, &exponents)?.f_reciprocal()?;
        if let Some(rope) = &config.rope_scaling {
            let shares: Vec<f64> = (0..config.head_dim / 2)
                .map(|index| config.rope_theta.powf(-2.0 * index as f64 / config.head_dim as f64))
                .map(|frequency| kept(rope, frequency))
                .collect();
            let shares = Tensor::f_from_slice(&shares)?.f_to_kind(Kind::Float)?;
            frequencies = frequencies.f_mul(&shares.f_to_device(placement.device)?)?;
        }
        let angles = Tensor::f_arange(length, fp32)?.f_outer(&frequencies)?;
        let shape = [1, length, 1, config.head_dim];
        let kind = placement.kind();
        let (cos, sin) = (angles.f_cos()?, angles.f_sin()?);
        Ok(Self {
            cos: Tensor::f_cat(&[&cos, &cos], 1)?.f_view(shape)?.f_to_kind(kind)?,
            sin: Tensor::f_cat(&[&sin.f_neg()?, &sin], 1)?
                .f_view(shape)?
                .f_to_kind(kind)?,
        })
    }

    /// Rows of the tables from [`RopeTables::new`] for one token per sequence: `positions` `[sequences]`.
    pub fn at(&self, positions: &Tensor) -> Result<Self> {
        let pick = |table: &Tensor| table.f_index_select(1, positions)?.f_transpose(0, 1);
        Ok(Self {
            cos: pick(&self.cos)?,
            sin: pick(&self.sin)?,
        })
    }

    /// Rows of the tables for any arrangement of tokens: `positions` `[sequences, length]`.
    pub fn gathered(&self, positions: &Tensor) -> Result<Self> {
        let (sequences, length) = positions.size2()?;
        let pick = |table: &Tensor| -> Result<Tensor> {
            let rows = table.f_index_select(1, &positions.f_reshape([-1])?)?;
            Ok(rows.f_view([sequences, length, 1, table.size()[3]])?)
        };
        Ok(Self {
            cos: pick(&self.cos)?,
            sin: pick(&self.sin)?,
        })
    }

    /// The tables of the first `length` positions.
    pub fn first(&self, length: i64) -> Result<Self> {
        Ok(Self {
            cos: self.cos.f_narrow(1, 0, length)?,
            sin: self.sin.f_narrow(1, 0, length)?,
        })
    }

    /// The tables of consecutive positions, `[length, head_dim]`, for hand-written CPU loops; `None` if libtorch must
    /// rotate.
    pub(crate) fn rotation(&self) -> Option<Rotation<'_>> {
        Some(Rotation {
            cos: host::numbers(&self.cos).filter(|_| self.cos.size()[0] == 1)?,
            sin: host::numbers(&self.sin)?,
        })
    }

    /// Rotates `[sequences, length, heads, head_dim]`.
    pub(super) fn rotate(&self, x: &Tensor) -> Result<Tensor> {
        let half = x.size()[3] / 2;
        let swapped = x.f_roll([half], [3])?;
        Ok(x.f_mul(&self.cos)?.f_addcmul(&swapped, &self.sin)?)
    }
}
