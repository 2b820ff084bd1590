//! LoRA adapters of one base and one shape, stacked so that all of them are computed in the same products.

mod groups;
mod low_rank;

pub(crate) use groups::IdleRows;
pub use groups::RowGroups;
pub use low_rank::JointProjection;
pub(crate) use low_rank::Selection;
pub use low_rank::{Factors, LayerAdapters, LayerFactors, LowRank};

use lyceum_core::work::{LoraShape, Projection};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tch::{Device, Kind, Tensor};

use crate::config::ModelConfig;
use crate::error::{EngineError, Result};

/// N adapters of one shape: one pair of stacked factors for each layer and adapted projection.
#[derive(Debug)]
pub struct Population {
    /// Rank, scaling and adapted projections, the same for all members.
    pub shape: LoraShape,
    /// Stacked factors, one entry per decoder layer.
    pub layers: Vec<LayerFactors>,
    members: usize,
}

impl Population {
    /// N fresh members, initialised as in peft: A uniform in ±1/√in (Kaiming with a = √5), B zero. The values depend on
    /// `seed` only.
    pub fn initialise(
        config: &ModelConfig,
        shape: LoraShape,
        members: usize,
        seed: u64,
        device: Device,
    ) -> Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (n, r) = (members as i64, i64::from(shape.r));
        let mut layers = Vec::with_capacity(config.num_hidden_layers);
        for _ in 0..config.num_hidden_layers {
            let mut layer = LayerFactors::default();
            for &projection in &shape.target_modules {
                let (inputs, outputs) = config.projection_sizes(projection);
                let bound = 1.0 / (inputs as f64).sqrt();
                let values: Vec<f32> = (0..n * r * inputs)
                    .map(|_| ((f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0) * bound) as f32)
                    .collect();
                let a = Tensor::f_from_slice(&values)?.f_reshape([n, r, inputs])?.f_to_device(device)?;
                let b = Tensor::f_zeros([n, outputs, r], (Kind::Float, device))?;
                layer.insert(projection, Factors { a, b });
            }
            layers.push(layer);
        }
        Ok(Self { shape, layers, members })
    }

    /// Stacks single adapters, each given as factors A `[r, in]` and B `[out, r]` by layer.
    pub fn stack(shape: LoraShape, adapters: &[Vec<LayerFactors>]) -> Result<Self> {
        let Some(first) = adapters.first() else {
            return Err(EngineError::population("a population needs at least one adapter"));
        };
        let mut layers = Vec::with_capacity(first.len());
        for index in 0..first.len() {
            let mut layer = LayerFactors::default();
            for &projection in &shape.target_modules {
                let mut a = Vec::with_capacity(adapters.len());
                let mut b = Vec::with_capacity(adapters.len());
                for (member, adapter) in adapters.iter().enumerate() {
                    let factors = adapter.get(index).and_then(|layer| layer.get(projection)).ok_or_else(|| {
                        EngineError::population(format!("adapter {member} has no {projection} in layer {index}"))
                    })?;
                    a.push(&factors.a);
                    b.push(&factors.b);
                }
                layer.insert(projection, Factors { a: Tensor::f_stack(&a, 0)?, b: Tensor::f_stack(&b, 0)? });
            }
            layers.push(layer);
        }
        Ok(Self { shape, layers, members: adapters.len() })
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Views of one member's factors: A `[r, in]`, B `[out, r]`.
    pub fn member(&self, index: usize) -> Result<Vec<LayerFactors>> {
        if index >= self.members {
            return Err(EngineError::population(format!("member {index} of a population of {}", self.members)));
        }
        self.map(|tensor| Ok(tensor.f_select(0, index as i64)?))
    }

    /// The same population with every tensor converted.
    pub fn to(&self, device: Device, kind: Kind) -> Result<Self> {
        let layers = self.map(|tensor| Ok(tensor.f_to_device(device)?.f_to_kind(kind)?))?;
        Ok(Self { shape: self.shape.clone(), layers, members: self.members })
    }

    /// Another handle on the same weights, for another thread.
    pub fn share(&self) -> Result<Self> {
        Ok(Self {
            shape: self.shape.clone(),
            layers: self.map(|tensor| Ok(tensor.shallow_clone()))?,
            members: self.members,
        })
    }

    /// A copy of the population.
    pub fn duplicate(&self) -> Result<Self> {
        Ok(Self {
            shape: self.shape.clone(),
            layers: self.map(|tensor| {
                let mut copy = tensor.f_empty_like()?;
                copy.f_copy_(tensor)?;
                Ok(copy)
            })?,
            members: self.members,
        })
    }

    /// A copy in which these members act as the bare base: their B is zero.
    pub fn without_adapters_of(&self, members: &[usize]) -> Result<Self> {
        let population = self.duplicate()?;
        for (_, _, factors) in population.tensors() {
            for &member in members {
                let _ = factors.b.f_select(0, member as i64)?.f_zero_()?;
            }
        }
        Ok(population)
    }

    /// Adapter parameters of one member.
    pub fn parameters_per_member(&self) -> i64 {
        self.tensors().map(|(_, _, factors)| factors.a.numel() + factors.b.numel()).sum::<usize>() as i64
            / self.members as i64
    }

    /// All stacked factors in order of layer and projection.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, Projection, &Factors)> {
        self.layers
            .iter()
            .enumerate()
            .flat_map(|(index, layer)| layer.iter().map(move |(p, factors)| (index, p, factors)))
    }

    /// Applies `convert` to every stacked factor.
    pub(crate) fn map(&self, convert: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Vec<LayerFactors>> {
        self.layers
            .iter()
            .map(|layer| {
                let mut converted = LayerFactors::default();
                for (projection, factors) in layer.iter() {
                    converted.insert(projection, Factors { a: convert(&factors.a)?, b: convert(&factors.b)? });
                }
                Ok(converted)
            })
            .collect()
    }
}
