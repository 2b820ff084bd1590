//! What the optimizer changes and keeps: tensors, and AdamW's moments and step counts, stacked; read and written as one safetensors file per member.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tch::{Device, Tensor};

use crate::error::{EngineError, Result};
use crate::population::Population;
use crate::unwinding::as_errors;
use crate::weights::{Checkpoint, write_safetensors};

/// Name of the file in a member's folder.
const FILE: &str = "optimizer.safetensors";
const STEP: &str = "step";

/// The moments of a trained tensor, in its shape, fp32.
#[derive(Debug)]
pub struct Moments {
    /// The trained tensor's name.
    pub name: String,
    /// Running mean of the gradient.
    pub exp_avg: Tensor,
    /// Running mean of its square.
    pub exp_avg_sq: Tensor,
}

/// The optimizer's state for all members.
#[derive(Debug)]
pub struct OptimizerState {
    /// Steps that each member has made.
    pub steps: Vec<u64>,
    /// In the order of the trained tensors.
    pub moments: Vec<Moments>,
}

impl OptimizerState {
    /// The state before the first step.
    pub fn new(trained: &[TrainedTensor]) -> Result<Self> {
        let moments = trained.iter().map(|tensor| {
            Ok(Moments {
                name: tensor.name.clone(),
                exp_avg: tensor.values.f_zeros_like()?,
                exp_avg_sq: tensor.values.f_zeros_like()?,
            })
        });
        Ok(Self {
            steps: vec![0; trained.first().map_or(0, TrainedTensor::members)],
            moments: moments.collect::<Result<_>>()?,
        })
    }

    /// A copy of the state.
    pub fn duplicate(&self) -> Result<Self> {
        let copy = |tensor: &Tensor| -> Result<Tensor> {
            let mut copy = tensor.f_empty_like()?;
            copy.f_copy_(tensor)?;
            Ok(copy)
        };
        let moments = self.moments.iter().map(|moments| {
            Ok(Moments {
                name: moments.name.clone(),
                exp_avg: copy(&moments.exp_avg)?,
                exp_avg_sq: copy(&moments.exp_avg_sq)?,
            })
        });
        Ok(Self { steps: self.steps.clone(), moments: moments.collect::<Result<_>>()? })
    }

    /// Stacks the states of single members; `None` is the state before the first step. Every tensor is checked against
    /// the trained ones.
    pub fn read(folders: &[Option<PathBuf>], trained: &[TrainedTensor]) -> Result<Self> {
        TrainedTensor::beside(trained, "moments", || Self::read_stacked(folders, trained))
    }

    fn read_stacked(folders: &[Option<PathBuf>], trained: &[TrainedTensor]) -> Result<Self> {
        let mut state = Self::new(trained)?;
        let members = state.steps.len();
        if folders.len() != members {
            let reason = format!("{} optimizer states for {members} members", folders.len());
            return Err(EngineError::Population(reason));
        }
        for (member, folder) in folders.iter().enumerate() {
            let Some(folder) = folder else { continue };
            let path = folder.join(FILE);
            let file = Checkpoint::from_file(&path)?;
            let steps = Vec::<i64>::try_from(file.read(STEP)?.values)?;
            state.steps[member] = match steps.as_slice() {
                [step] if *step >= 0 => *step as u64,
                _ => {
                    return Err(EngineError::tensor(&path, STEP, format!("is {steps:?}; it must be one step count")));
                }
            };
            for moments in &state.moments {
                for (suffix, stacked) in [("exp_avg", &moments.exp_avg), ("exp_avg_sq", &moments.exp_avg_sq)] {
                    let name = format!("{}.{suffix}", moments.name);
                    let stored = file.read(&name)?.values;
                    let mut place = stacked.f_get(member as i64)?;
                    if stored.size() != place.size() {
                        let problem = format!("has shape {:?}; the adapter's is {:?}", stored.size(), place.size());
                        return Err(EngineError::tensor(&path, &name, problem));
                    }
                    if !stored.f_isfinite()?.f_all()?.f_int64_value(&[])?.eq(&1) {
                        return Err(EngineError::tensor(&path, &name, "is not finite (NaN or infinity)"));
                    }
                    place.f_copy_(&stored)?;
                }
            }
        }
        Ok(state)
    }

    /// Writes one member's state into its folder. The same state gives the same bytes.
    pub fn write_member(&self, member: usize, folder: &Path) -> Result<()> {
        let mut tensors = Vec::with_capacity(2 * self.moments.len());
        for moments in &self.moments {
            for (suffix, stacked) in [("exp_avg", &moments.exp_avg), ("exp_avg_sq", &moments.exp_avg_sq)] {
                tensors.push((format!("{}.{suffix}", moments.name), stacked.f_get(member as i64)?));
            }
        }
        let step = Tensor::f_from_slice(&[self.steps[member] as i64])?;
        tensors.push((STEP.to_owned(), step));
        std::fs::create_dir_all(folder).map_err(|source| EngineError::io(folder, source))?;
        write_safetensors(&folder.join(FILE), &tensors, HashMap::new())
    }
}

/// A trained tensor. Its first dimension is the member; members never mix. A model trained as a whole is one member.
#[derive(Debug)]
pub struct TrainedTensor {
    /// Its name in files and errors.
    pub name: String,
    /// The values, fp32, `[members, ..]`; shares memory with the object that the tensor belongs to.
    pub values: Tensor,
}

impl TrainedTensor {
    /// All stacked factors of a population, in order of layer, projection and factor.
    pub fn of_population(population: &Population) -> Vec<Self> {
        let mut tensors = Vec::new();
        for (layer, projection, factors) in population.tensors() {
            for (factor, values) in [('A', &factors.a), ('B', &factors.b)] {
                tensors.push(Self {
                    name: format!("model.layers.{layer}.{}.{projection}.lora_{factor}", projection.block()),
                    values: values.shallow_clone(),
                });
            }
        }
        tensors
    }

    /// A tensor `[..]` of a single member.
    pub fn whole(name: impl Into<String>, values: &Tensor) -> Result<Self> {
        Ok(Self { name: name.into(), values: values.f_detach()?.f_unsqueeze(0)? })
    }

    /// Reads `what` there is one of for each number of `trained`, onto its device.
    pub(super) fn beside<T>(trained: &[Self], what: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
        as_errors(read).map_err(|error| {
            let numbers: usize = trained.iter().map(|tensor| tensor.values.numel()).sum();
            let members = trained.first().map_or(0, Self::members);
            error.if_out_of_memory(trained.first().map_or(Device::Cpu, |tensor| tensor.values.device()), || {
                format!(
                    "{what} of {members} members, {numbers} numbers together, do not fit; fewer members at a time or a lower \
                     rank would"
                )
            })
        })
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.values.size()[0] as usize
    }
}
