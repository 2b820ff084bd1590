//! Attention as matrix products over all positions, with hand-written CPU loops around them. Masked positions are
//! computed too; for short sequences that costs less than the bookkeeping to skip them.

use lyceum_kernels::attention::{self as kernel, Gradients, Heads, Rotation, Shape};
use tch::{Device, Kind, Tensor};

use super::super::layout::{Bucket, Packing};
use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::host;
use crate::model::RopeTables;
use crate::product::product;

/// Sizes and indices in the form the loops take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Products<'a> {
    shape: Shape,
    scale: f32,
    rotation: Rotation<'a>,
    gather: Option<&'a [i64]>,
    scatter: Option<&'a [i64]>,
}

/// Queries `[sequences · kv_heads, group · length, head_dim]`, where a group of heads shares a key head; keys and
/// values `[sequences · kv_heads, length, head_dim]`.
#[derive(Debug)]
struct Matrices {
    query: Tensor,
    key: Tensor,
    value: Tensor,
}

/// Values the gradient needs.
#[derive(Debug)]
pub(in crate::learn) struct ProductsTape<'a> {
    products: Products<'a>,
    matrices: Matrices,
    /// See [`Products::weights`].
    weights: Tensor,
    attended: Tensor,
}

impl<'a> Products<'a> {
    /// `None` if the loops cannot read one of the tensors, or the sequences are of several lengths.
    pub(super) fn new(config: &ModelConfig, rope: &'a RopeTables, packing: &'a Packing) -> Option<Self> {
        let [Bucket { sequences, length }] = *packing.buckets else {
            return None;
        };
        let (gather, scatter) = match &packing.indices {
            Some(indices) => (
                Some(host::indices(&indices.gather)?),
                Some(host::indices(&indices.scatter)?),
            ),
            None => (None, None),
        };
        Some(Self {
            shape: Shape {
                sequences: sequences as usize,
                length: length as usize,
                heads: config.num_attention_heads as usize,
                kv_heads: config.num_key_value_heads as usize,
                head_dim: config.head_dim as usize,
            },
            scale: (config.head_dim as f32).sqrt().recip(),
            rotation: rope.rotation()?,
            gather,
            scatter,
        })
    }

    /// See [`super::Attention::attend`].
    pub(super) fn attend(&self, qkv: &Tensor) -> Result<Tensor> {
        let matrices = self.split(qkv)?;
        self.attended(&self.weights(&matrices)?, &matrices, qkv.size()[0])
    }

    pub(super) fn record(self, qkv: &Tensor) -> Result<ProductsTape<'a>> {
        let matrices = self.split(qkv)?;
        let weights = self.weights(&matrices)?;
        let attended = self.attended(&weights, &matrices, qkv.size()[0])?;
        Ok(ProductsTape {
            products: self,
            matrices,
            weights,
            attended,
        })
    }

    fn split(&self, qkv: &Tensor) -> Result<Matrices> {
        let mut matrices = self.matrices()?;
        let qkv = qkv.f_contiguous()?;
        let heads = Heads {
            query: written(&mut matrices.query)?,
            key: written(&mut matrices.key)?,
            value: written(&mut matrices.value)?,
        };
        kernel::split(
            host::threads(),
            self.shape,
            read(&qkv)?,
            self.gather,
            self.rotation,
            heads,
        );
        Ok(matrices)
    }

    /// Uninitialised.
    fn matrices(&self) -> Result<Matrices> {
        let Shape {
            sequences,
            length,
            heads,
            kv_heads,
            head_dim,
        } = self.shape;
        let matrices = |group: usize| {
            Tensor::f_empty(
                [(sequences * kv_heads) as i64, (group * length) as i64, head_dim as i64],
                (Kind::Float, Device::Cpu),
            )
        };
        Ok(Matrices {
            query: matrices(heads / kv_heads)?,
            key: matrices(1)?,
            value: matrices(1)?,
        })
    }

    /// The attention weight of each value for each query, `[sequences · kv_heads, group · length, length]`.
    fn weights(&self, matrices: &Matrices) -> Result<Tensor> {
        let mut scores = product(&matrices.query, &matrices.key.f_transpose(1, 2)?)?;
        kernel::weights(host::threads(), self.shape.length, self.scale, written(&mut scores)?);
        Ok(scores)
    }

    fn attended(&self, weights: &Tensor, matrices: &Matrices, rows: i64) -> Result<Tensor> {
        let attended = product(weights, &matrices.value)?;
        let mut joined = Tensor::f_empty([rows, self.shape.query() as i64], (Kind::Float, Device::Cpu))?;
        kernel::join(self.shape, read(&attended)?, self.scatter, written(&mut joined)?);
        Ok(joined)
    }
}

impl ProductsTape<'_> {
    pub(super) fn attended(&self) -> Tensor {
        self.attended.shallow_clone()
    }

    pub(super) fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        let Self {
            products,
            matrices,
            weights,
            attended,
        } = self;
        let rows = attended.size()[0];
        drop(attended);
        let mut by_attended = match products.scatter {
            Some(_) => matrices.query.f_zeros_like()?,
            None => matrices.query.f_empty_like()?,
        };
        let gradient = gradient.f_contiguous()?;
        kernel::join_backward(
            products.shape,
            read(&gradient)?,
            products.scatter,
            written(&mut by_attended)?,
        );
        let by_value = product(&weights.f_transpose(1, 2)?, &by_attended)?;
        let mut by_scores = product(&by_attended, &matrices.value.f_transpose(1, 2)?)?;
        drop(by_attended);
        let Products { shape, scale, .. } = products;
        kernel::weights_backward(
            host::threads(),
            shape.length,
            scale,
            read(&weights)?,
            written(&mut by_scores)?,
        );
        drop(weights);
        let by_query = product(&by_scores, &matrices.key)?;
        let by_key = product(&by_scores.f_transpose(1, 2)?, &matrices.query)?;
        drop(by_scores);
        let gradients = Gradients {
            query: read(&by_query)?,
            key: read(&by_key)?,
            value: read(&by_value)?,
        };
        let size = [rows, shape.joint() as i64];
        let options = (Kind::Float, Device::Cpu);
        let mut joint = match products.gather {
            Some(_) => Tensor::f_zeros(size, options)?,
            None => Tensor::f_empty(size, options)?,
        };
        kernel::split_backward(
            shape,
            gradients,
            products.gather,
            products.rotation,
            written(&mut joint)?,
        );
        Ok(joint)
    }
}

fn read(tensor: &Tensor) -> Result<&[f32]> {
    host::numbers(tensor).ok_or_else(out_of_place)
}

fn written(tensor: &mut Tensor) -> Result<&mut [f32]> {
    host::numbers_mut(tensor).ok_or_else(out_of_place)
}

fn out_of_place() -> EngineError {
    EngineError::population("attention needs fp32 tensors in CPU memory")
}
