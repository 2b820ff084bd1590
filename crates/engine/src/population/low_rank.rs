//! The adapters' contribution to a projection, for all members of a batch at once.

use lyceum_core::work::{LoraShape, Projection};
use tch::{Device, Kind, Tensor};

use super::groups::RowGroups;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::product::{add_product, product};

/// Inputs from which on a GPU's batched product is slow with few rows, since it splits no sum among the GPU's processors, and the
/// rows up to which one product with the factors of all members, which cuBLAS does split, is faster in spite of what it computes in
/// vain (on an H100, 18,944 inputs and eight members of rank 32: 9 against 26 µs for 64 rows, 16 against 28 for 512; with 3,584
/// inputs both are equal).
const LONG_SUM: i64 = 8192;
const FEW_ROWS: i64 = 512;

/// Stacked factors of projections that share their input (q, k and v; gate and up), arranged for the product:
/// transposed, with the scaling folded into the second factor. Built from the stacked parameters with differentiable
/// operations only.
#[derive(Debug)]
pub struct LowRank {
    /// `[groups, in, Σ r]`; on a GPU a view of `[groups, Σ r, in]`, so that the factors of all groups are one matrix.
    down: Tensor,
    up: Vec<Up>,
    /// Width of the joint output.
    outputs: i64,
}

#[derive(Debug)]
struct Up {
    /// `[groups, r, out]`
    weight: Tensor,
    /// Offset of this projection in the `Σ r` inner columns.
    rank_offset: i64,
    /// Offset in the joint outputs.
    output_offset: i64,
}

impl LowRank {
    /// `parts` are the projections in the order of their outputs, each with its factors (if adapted) and its number of
    /// outputs. `None` if none is adapted.
    pub fn arrange(parts: &[(Option<&Factors>, i64)], scaling: f64, kind: Kind) -> Result<Option<Self>> {
        let mut down = Vec::new();
        let mut up = Vec::new();
        let (mut rank_offset, mut output_offset) = (0, 0);
        for &(factors, outputs) in parts {
            if let Some(Factors { a, b }) = factors {
                down.push(a.f_to_kind(kind)?);
                let weight = b.f_mul_scalar(scaling)?.f_to_kind(kind)?;
                up.push(Up { weight: weight.f_transpose(1, 2)?.f_contiguous()?, rank_offset, output_offset });
                rank_offset += a.size()[1];
            }
            output_offset += outputs;
        }
        if up.is_empty() {
            return Ok(None);
        }
        let down = Tensor::f_cat(&down, 1)?.f_transpose(1, 2)?;
        Ok(Some(Self {
            down: if down.device().is_cuda() { down } else { down.f_contiguous()? },
            up,
            outputs: output_offset,
        }))
    }

    /// Applies `pick` to the stacked factors.
    fn map(&self, pick: &impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let up = self.up.iter().map(|up| Ok(Up { weight: pick(&up.weight)?, ..*up }));
        let down = if self.down.is_contiguous() {
            pick(&self.down)?
        } else {
            pick(&self.down.f_transpose(1, 2)?)?.f_transpose(1, 2)?
        };
        Ok(Self { down, up: up.collect::<Result<_>>()?, outputs: self.outputs })
    }

    /// Adds the adapters' contribution for `inputs` `[T, in]` to the base's `outputs` `[T, out]`.
    pub fn add_to(&self, outputs: Tensor, inputs: &Tensor, groups: &RowGroups) -> Result<Tensor> {
        let inner = self.inner(&groups.group(inputs)?)?;
        if groups.is_uniform() {
            let grouped = groups.group(&outputs)?;
            for up in &self.up {
                let mut part = columns(&grouped, up.output_offset, up.weight.size()[2])?;
                add_product(&self.inner_of(&inner, up)?, &up.weight, &mut part)?;
            }
            return Ok(outputs);
        }
        let mut parts = Vec::with_capacity(2 * self.up.len() + 1);
        let mut filled = 0;
        let shape = |width| [inner.size()[0], inner.size()[1], width];
        let zeros = |width| Tensor::f_zeros(shape(width), (inner.kind(), inner.device()));
        for up in &self.up {
            if up.output_offset > filled {
                parts.push(zeros(up.output_offset - filled)?);
            }
            parts.push(product(&self.inner_of(&inner, up)?, &up.weight)?);
            filled = up.output_offset + up.weight.size()[2];
        }
        if filled < self.outputs {
            parts.push(zeros(self.outputs - filled)?);
        }
        let share = groups.ungroup(&Tensor::f_cat(&parts, 2)?)?;
        Ok(outputs.f_add(&share)?)
    }

    /// `[groups, rows, in]` to `[groups, rows, Σ r]`.
    fn inner(&self, inputs: &Tensor) -> Result<Tensor> {
        let (groups, width, ranks) = self.down.size3()?;
        let rows = inputs.size()[1];
        if !inputs.device().is_cuda() || width < LONG_SUM || groups * rows > FEW_ROWS {
            return product(inputs, &self.down);
        }
        let all = self.down.f_transpose(1, 2)?.f_reshape([groups * ranks, width])?;
        let products = product(&inputs.f_reshape([groups * rows, width])?, &all.f_transpose(0, 1)?)?;
        let of_own = products.f_view([groups, rows, groups, ranks])?.f_diagonal(0, 0, 2)?;
        Ok(of_own.f_permute([2, 0, 1])?)
    }

    fn inner_of(&self, inner: &Tensor, up: &Up) -> Result<Tensor> {
        columns(inner, up.rank_offset, up.weight.size()[1])
    }
}

/// Some columns of `[groups, rows, width]`; a view is made only if these are not all.
fn columns(x: &Tensor, offset: i64, width: i64) -> Result<Tensor> {
    Ok(if x.size()[2] == width { x.shallow_clone() } else { x.f_narrow(2, offset, width)? })
}

/// The adapters' contribution to one decoder layer.
#[derive(Debug)]
pub struct LayerAdapters {
    /// q, k and v side by side.
    pub qkv: Option<LowRank>,
    /// The attention's output projection.
    pub o: Option<LowRank>,
    /// gate and up side by side.
    pub gate_up: Option<LowRank>,
    /// The MLP's output projection.
    pub down: Option<LowRank>,
}

impl LayerAdapters {
    /// Arranges one layer's stacked factors for batches in which all members have rows, in order.
    pub fn arrange(factors: &LayerFactors, shape: &LoraShape, config: &ModelConfig, kind: Kind) -> Result<Self> {
        let joint = |projection: JointProjection| {
            let parts: Vec<_> =
                projection.parts().iter().map(|&p| (factors.get(p), config.projection_sizes(p).1)).collect();
            LowRank::arrange(&parts, shape.scaling(), kind)
        };
        Ok(Self {
            qkv: joint(JointProjection::Qkv)?,
            o: joint(JointProjection::O)?,
            gate_up: joint(JointProjection::GateUp)?,
            down: joint(JointProjection::Down)?,
        })
    }

    /// The contribution to one of the layer's matrices; `None` if it has no adapter.
    pub fn of(&self, projection: JointProjection) -> Option<&LowRank> {
        match projection {
            JointProjection::Qkv => self.qkv.as_ref(),
            JointProjection::O => self.o.as_ref(),
            JointProjection::GateUp => self.gate_up.as_ref(),
            JointProjection::Down => self.down.as_ref(),
        }
    }

    /// The factors for batches whose rows are grouped by `groups`; serves every batch with the same members in the same
    /// order.
    pub fn select(&self, groups: &RowGroups) -> Result<Self> {
        self.map(|stacked| groups.select(stacked))
    }

    /// Another handle on the same factors, for another thread.
    pub fn share(&self) -> Result<Self> {
        self.map(|stacked| Ok(stacked.shallow_clone()))
    }

    fn map(&self, pick: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let map = |low_rank: &Option<LowRank>| low_rank.as_ref().map(|part| part.map(&pick)).transpose();
        Ok(Self { qkv: map(&self.qkv)?, o: map(&self.o)?, gate_up: map(&self.gate_up)?, down: map(&self.down)? })
    }
}

/// `W + scaling · B A`. Stacked: A `[N, r, in]`, B `[N, out, r]`; single adapter: A `[r, in]`, B `[out, r]`.
#[derive(Debug)]
pub struct Factors {
    /// `lora_A.weight`
    pub a: Tensor,
    /// `lora_B.weight`
    pub b: Tensor,
}

/// The factors of one decoder layer, by projection.
#[derive(Debug, Default)]
pub struct LayerFactors {
    by_projection: [Option<Factors>; Projection::ALL.len()],
}

impl LayerFactors {
    /// The factors of a projection, if it is adapted.
    pub fn get(&self, projection: Projection) -> Option<&Factors> {
        self.by_projection[projection as usize].as_ref()
    }

    /// Mutable access, for optimisers.
    pub fn get_mut(&mut self, projection: Projection) -> Option<&mut Factors> {
        self.by_projection[projection as usize].as_mut()
    }

    /// Sets the factors of a projection.
    pub fn insert(&mut self, projection: Projection, factors: Factors) {
        self.by_projection[projection as usize] = Some(factors);
    }

    /// The adapted projections in order.
    pub fn iter(&self) -> impl Iterator<Item = (Projection, &Factors)> {
        Projection::ALL.into_iter().filter_map(|projection| Some((projection, self.get(projection)?)))
    }
}

/// The entries of a stack that take part in a batch; consecutive ones are a view.
#[derive(Debug)]
pub(crate) enum Selection {
    /// All, in order.
    All,
    /// A consecutive range.
    Range { first: i64, count: i64 },
    /// Any entries, as an index tensor.
    Indices(Tensor),
}

impl Selection {
    /// `members` are the stack indices, ascending; `height` is the number of entries in the stack.
    pub(crate) fn new(members: &[i64], height: usize, device: Device) -> Result<Self> {
        let (first, count) = (members.first().copied().unwrap_or(0), members.len() as i64);
        Ok(if members.len() == height {
            Self::All
        } else if members.iter().copied().eq(first..first + count) {
            Self::Range { first, count }
        } else {
            Self::Indices(Tensor::f_from_slice(members)?.f_to_device(device)?)
        })
    }

    /// The selected entries of `stacked`.
    pub(crate) fn of(&self, stacked: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::All => stacked.shallow_clone(),
            Self::Range { first, count } => stacked.f_narrow(0, *first, *count)?,
            Self::Indices(indices) => stacked.f_index_select(0, indices)?,
        })
    }
}

/// One of the four matrices of a decoder layer. Projections with the same input are one matrix, whose output is the
/// concatenation of their outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointProjection {
    /// q, k and v.
    Qkv,
    /// The attention's output projection.
    O,
    GateUp,
    /// The MLP's output projection.
    Down,
}

impl JointProjection {
    /// All of them, in the order in which a layer applies them.
    pub const ALL: [Self; 4] = [Self::Qkv, Self::O, Self::GateUp, Self::Down];

    /// The projections in the order of their outputs.
    pub fn parts(self) -> &'static [Projection] {
        match self {
            Self::Qkv => &[Projection::Q, Projection::K, Projection::V],
            Self::O => &[Projection::O],
            Self::GateUp => &[Projection::Gate, Projection::Up],
            Self::Down => &[Projection::Down],
        }
    }
}
