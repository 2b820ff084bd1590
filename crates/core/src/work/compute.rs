//! How models compute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// How the engine computes: everything besides the machine that the last bits of a result depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// Precision of the frozen base and of activations. Adapters, their gradients and moments are always fp32.
    pub dtype: Dtype,
    /// Number of CPU threads. Left out, the worker decides, so results of machines with different core counts differ in
    /// their last bits.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
    /// What generates tokens.
    #[serde(skip_serializing_if = "Sampler::is_engine")]
    pub sampler: Sampler,
    /// What computes gradients and takes optimizer steps.
    #[serde(skip_serializing_if = "Trainer::is_engine")]
    pub trainer: Trainer,
    /// What the engine computes on. Left out, anything that has the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The instruction set whose kernels the engine uses on a processor: workers with another, or with a GPU, leave the items.
    /// Left out, any, and results of two kinds of processor may differ in their last bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Kernels>,
}

/// What a worker's engine computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Device {
    /// Processors.
    Cpu,
    /// An NVIDIA GPU: for bases on which processors would take hours.
    Cuda,
}

crate::named!(Device, "a device");

/// An instruction set by which libtorch chooses its kernels on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Kernels {
    /// Vectors of 256 bits.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
    /// These, with products of 16-bit numbers (AVX-512 BF16).
    Avx512Bf16,
    /// These, with tiles of 16-bit numbers (AMX).
    Amx,
}

crate::named!(Kernels, "an instruction set");

/// What generates tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Sampler {
    /// The worker's own engine: the same seed gives the same tokens.
    #[default]
    Engine,
    /// A vLLM server that workers were given (`lyceum-worker work --vllm`). Its arithmetic depends on what else it is
    /// doing, so the run is not bit-for-bit reproducible.
    Served,
}

crate::named!(Sampler, "a sampler");

impl Sampler {
    /// Whether it is the default.
    pub fn is_engine(&self) -> bool {
        *self == Self::Engine
    }
}

/// What computes the gradients of updates and takes their optimizer steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Trainer {
    /// The worker's own engine, on one device.
    #[default]
    Engine,
    /// A group of processes that a worker starts with torchrun (`lyceum-worker work --torchrun-python`) and that share the
    /// base, for bases larger than a device. The order of its sums depends on the number of processes, so the run is not
    /// bit-for-bit reproducible. It does not split gradients into pieces (`items.gradient_pieces`).
    Torchrun,
}

crate::named!(Trainer, "a trainer");

impl Trainer {
    /// Whether it is the default.
    pub fn is_engine(&self) -> bool {
        *self == Self::Engine
    }
}

/// The number format of weights and activations. Softmax, norms and log-probabilities are always
/// computed in fp32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
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

/// Limits of the programs that an item judges. Verdicts depend on them, so they come from the run's config and not from the
/// worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramLimits {
    /// CPU time in seconds that a call of a program may take; programs under test have twice as much. An endless program
    /// costs this whenever it is met. Left out, the worker's: 5 s unless `--cpu-seconds` says otherwise.
    #[schemars(range(min = 0.05, max = 300.0))]
    pub cpu_seconds: Option<f64>,
}

impl ProgramLimits {
    /// Whether every limit is left to the worker.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
