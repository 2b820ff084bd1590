//! A birth without parents.

use lyceum_core::work::LoraShape;
use tch::Device;

use crate::config::ModelConfig;
use crate::error::Result;
use crate::peft::{AdapterFiles, member_files};
use crate::population::Population;

/// A fresh adapter for a base of these sizes, initialised as in peft: A drawn from `seed`, B zero. `base_name` goes
/// into its configuration.
pub fn init(base: &ModelConfig, base_name: &str, shape: LoraShape, seed: u64) -> Result<AdapterFiles> {
    member_files(
        &Population::initialise(base, shape, 1, seed, Device::Cpu)?,
        0,
        base_name,
    )
}
