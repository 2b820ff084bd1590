//! How the engine computes.

use serde::{Deserialize, Serialize};

/// How the engine computes: what the last bits of a result depend on, besides the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// The precision of the frozen base and of activations. Adapters, their gradients and moments are always fp32.
    pub dtype: Dtype,
    /// Threads of a CPU. None leaves it to the worker, so that machines with different numbers of cores differ in the last bits.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
}

/// A precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// 32-bit floating point: the reference, and on many CPUs the faster.
    #[default]
    Fp32,
    /// 16-bit brain floating point: for GPUs, and for CPUs with matrix units for it.
    Bf16,
}
