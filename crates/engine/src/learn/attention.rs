//! Attention of a micro-batch whose sequences may share prompts.

use lyceum_kernels::attention as kernel;
use lyceum_kernels::attention::{Gradients, Heads, Rotation, Shape};
use tch::{Device, Kind, Tensor};

use super::layout::{Bucket, Packing};
use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::host;
use crate::model::{Attend, CausalAttention, LayerWeights, RopeTables, rotated_heads};
use crate::product::product;

/// Inputs of a layer's attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention<'a> {
    pub(super) config: &'a ModelConfig,
    pub(super) rope: &'a RopeTables,
    pub(super) packing: &'a Packing,
}

impl<'a> Attention<'a> {
    /// From the joint projection `[T, query_size + 2 · key_value_size]` to the attended values `[T, query_size]`.
    pub(super) fn attend(&self, weights: &LayerWeights, qkv: &Tensor) -> Result<Tensor> {
        match self.products(weights, qkv) {
            Some(products) => products.attend(qkv),
            None => attend(self, weights, qkv),
        }
    }

    /// Computes attention and keeps what the gradient needs.
    pub(super) fn record(&self, weights: &LayerWeights, qkv: Tensor) -> Result<AttentionTape<'a>> {
        Ok(match self.products(weights, &qkv) {
            Some(products) => AttentionTape::Products(products.record(&qkv)?),
            None => AttentionTape::Fused(FusedTape::record(self, weights, &qkv)?),
        })
    }

    /// Returns the matrix-product implementation if it is cheaper: on a CPU, while all scores take no more memory than
    /// the gated MLP's intermediates. libtorch's own attention needs a fraction of the memory but several times as
    /// long.
    fn products(&self, weights: &LayerWeights, qkv: &Tensor) -> Option<Products<'a>> {
        let config = self.config;
        let here = qkv.device() == Device::Cpu && qkv.kind() == Kind::Float && weights.qk_norm.is_none();
        let short = config.num_attention_heads * self.packing.length() <= config.intermediate_size;
        (here && short).then(|| Products::new(config, self.rope, self.packing)).flatten()
    }
}

/// A recorded attention pass, for its gradient.
#[derive(Debug)]
pub(super) enum AttentionTape<'a> {
    /// By libtorch's fused attention.
    Fused(FusedTape),
    /// By matrix products.
    Products(ProductsTape<'a>),
}

impl AttentionTape<'_> {
    /// The attended values, `[T, query_size]`.
    pub(super) fn attended(&self) -> Result<Tensor> {
        match self {
            Self::Fused(tape) => tape.attended(),
            Self::Products(tape) => Ok(tape.attended()),
        }
    }

    /// The gradient of the joint projection, given that of the attended values.
    pub(super) fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        match self {
            Self::Fused(tape) => tape.backward(gradient),
            Self::Products(tape) => tape.backward(gradient),
        }
    }
}

/// See [`Attention::attend`].
fn attend(attention: &Attention<'_>, weights: &LayerWeights, qkv: &Tensor) -> Result<Tensor> {
    let Attention { config, rope, packing } = attention;
    let padded = match &packing.indices {
        // An embedding look-up: unlike `index_select`, its gradient is fast on the CPU and deterministic on a GPU.
        Some(indices) => Tensor::f_embedding(qkv, &indices.gather, -1, false, false)?,
        None => qkv.shallow_clone(),
    };
    let attend = |padded: &Tensor, rope: &RopeTables, bucket: &Bucket| -> Result<Tensor> {
        let padded = padded.f_view([bucket.sequences, bucket.length, -1])?;
        let (query, key, value) = rotated_heads(config, weights, &padded, rope)?;
        let attended = CausalAttention.attend(0, &query, &key, &value)?;
        Ok(attended.f_view([-1, config.query_size()])?)
    };
    let attended = match packing.buckets.as_slice() {
        [all] => attend(&padded, rope, all)?,
        buckets => {
            let sizes: Vec<i64> = buckets.iter().map(|bucket| bucket.sequences * bucket.length).collect();
            // Split rather than sliced: the gradient is one concatenation.
            let parts = padded.f_split_with_sizes(sizes, 0)?;
            let attended = parts
                .iter()
                .zip(buckets)
                .map(|(part, bucket)| attend(part, &rope.first(bucket.length)?, bucket))
                .collect::<Result<Vec<_>>>()?;
            Tensor::f_cat(&attended, 0)?
        }
    };
    Ok(match &packing.indices {
        Some(indices) => Tensor::f_embedding(&attended, &indices.scatter, -1, false, false)?,
        None => attended,
    })
}

/// A run of [`attend`] with libtorch's record of it.
#[derive(Debug)]
pub(in crate::learn) struct FusedTape {
    qkv: Tensor,
    attended: Tensor,
}

impl FusedTape {
    fn record(attention: &Attention<'_>, weights: &LayerWeights, qkv: &Tensor) -> Result<Self> {
        let qkv = qkv.f_detach()?.f_set_requires_grad(true)?;
        let attended = tch::with_grad(|| attend(attention, weights, &qkv))?;
        Ok(Self { qkv, attended })
    }

    fn attended(&self) -> Result<Tensor> {
        Ok(self.attended.f_detach()?)
    }

    fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        // The sum itself is unused; its gradient is `gradient`.
        let scalar = tch::with_grad(|| self.attended.f_mul(gradient)?.f_sum(gradient.kind()))?;
        let mut gradients = Tensor::f_run_backward(&[scalar], &[self.qkv], false, false)?;
        Ok(gradients.swap_remove(0))
    }
}

/// Sizes and indices in the form the loops take.
#[derive(Debug, Clone, Copy)]
struct Products<'a> {
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
    fn new(config: &ModelConfig, rope: &'a RopeTables, packing: &'a Packing) -> Option<Self> {
        let [Bucket { sequences, length }] = *packing.buckets else { return None };
        let (gather, scatter) = match &packing.indices {
            Some(indices) => (Some(host::indices(&indices.gather)?), Some(host::indices(&indices.scatter)?)),
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

    /// See [`Attention::attend`].
    fn attend(&self, qkv: &Tensor) -> Result<Tensor> {
        let matrices = self.split(qkv)?;
        self.attended(&self.weights(&matrices)?, &matrices, qkv.size()[0])
    }

    fn record(self, qkv: &Tensor) -> Result<ProductsTape<'a>> {
        let matrices = self.split(qkv)?;
        let weights = self.weights(&matrices)?;
        let attended = self.attended(&weights, &matrices, qkv.size()[0])?;
        Ok(ProductsTape { products: self, matrices, weights, attended })
    }

    fn split(&self, qkv: &Tensor) -> Result<Matrices> {
        let mut matrices = self.matrices()?;
        let qkv = qkv.f_contiguous()?;
        let heads = Heads {
            query: written(&mut matrices.query)?,
            key: written(&mut matrices.key)?,
            value: written(&mut matrices.value)?,
        };
        kernel::split(host::threads(), self.shape, read(&qkv)?, self.gather, self.rotation, heads);
        Ok(matrices)
    }

    /// Uninitialised.
    fn matrices(&self) -> Result<Matrices> {
        let Shape { sequences, length, heads, kv_heads, head_dim } = self.shape;
        let matrices = |group: usize| {
            Tensor::f_empty(
                [(sequences * kv_heads) as i64, (group * length) as i64, head_dim as i64],
                (Kind::Float, Device::Cpu),
            )
        };
        Ok(Matrices { query: matrices(heads / kv_heads)?, key: matrices(1)?, value: matrices(1)? })
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
    fn attended(&self) -> Tensor {
        self.attended.shallow_clone()
    }

    fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        let Self { products, matrices, weights, attended } = self;
        let rows = attended.size()[0];
        drop(attended);
        let mut by_attended = match products.scatter {
            Some(_) => matrices.query.f_zeros_like()?,
            None => matrices.query.f_empty_like()?,
        };
        let gradient = gradient.f_contiguous()?;
        kernel::join_backward(products.shape, read(&gradient)?, products.scatter, written(&mut by_attended)?);
        let by_value = product(&weights.f_transpose(1, 2)?, &by_attended)?;
        let mut by_scores = product(&by_attended, &matrices.value.f_transpose(1, 2)?)?;
        drop(by_attended);
        let Products { shape, scale, .. } = products;
        kernel::weights_backward(host::threads(), shape.length, scale, read(&weights)?, written(&mut by_scores)?);
        drop(weights);
        let by_query = product(&by_scores, &matrices.key)?;
        let by_key = product(&by_scores.f_transpose(1, 2)?, &matrices.query)?;
        drop(by_scores);
        let gradients = Gradients { query: read(&by_query)?, key: read(&by_key)?, value: read(&by_value)? };
        let size = [rows, shape.joint() as i64];
        let options = (Kind::Float, Device::Cpu);
        let mut joint = match products.gather {
            Some(_) => Tensor::f_zeros(size, options)?,
            None => Tensor::f_empty(size, options)?,
        };
        kernel::split_backward(shape, gradients, products.gather, products.rotation, written(&mut joint)?);
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
