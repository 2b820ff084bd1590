//! The tensors that the optimizer changes.

use tch::{Device, Tensor};

use crate::error::Result;
use crate::population::Population;
use crate::unwinding::as_errors;

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
        Ok(Self {
            name: name.into(),
            values: values.f_detach()?.f_unsqueeze(0)?,
        })
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
