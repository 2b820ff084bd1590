//! How the engine computes.

use serde::{Deserialize, Serialize};

/// How the engine computes: everything besides the machine that the last bits of a result depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// Precision of the frozen base and of activations. Adapters, their gradients and moments are always fp32.
    pub dtype: Dtype,
    /// Number of CPU threads. Left out, the worker decides, so results of machines with different core counts differ in
    /// their last bits.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
}

/// The number format of weights and activations. Softmax, norms and log-probabilities are always
/// computed in fp32.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Dtype {
    /// 32-bit floating point: the reference, and faster on many CPUs.
    #[default]
    Fp32,
    /// 16-bit brain floating point: for GPUs, and for CPUs with matrix units for it.
    Bf16,
}

crate::named!(Dtype, "a precision");

impl Dtype {
    /// Bytes per number.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Bf16 => 2,
        }
    }
}
