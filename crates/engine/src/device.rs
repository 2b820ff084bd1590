//! The device that holds the tensors and the precision the model computes in.

pub(crate) mod cuda;
pub(crate) mod graph;

use std::sync::OnceLock;

use lyceum_core::work::Dtype;
use tch::kind::Element;
use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
pub use cuda::{limit_memory, memory};

/// The libtorch kind of a precision.
pub fn kind(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Fp32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
    }
}

/// A device and the precision to compute in on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// The device that holds all tensors.
    pub device: Device,
    /// The precision of weights and activations.
    pub dtype: Dtype,
}

impl Placement {
    /// The reference: fp32 on the CPU.
    pub const REFERENCE: Self = Self { device: Device::Cpu, dtype: Dtype::Fp32 };

    /// `asked` is `cpu`, `cuda`, `cuda:N`, or `auto` (the first GPU if there is one, else the CPU).
    pub fn new(asked: &str, dtype: Dtype) -> Result<Self> {
        Ok(Self { device: device(asked)?, dtype })
    }

    /// The GPU's index, as CUDA counts.
    pub fn gpu(self) -> Option<usize> {
        match self.device {
            Device::Cuda(index) => Some(index),
            _ => None,
        }
    }

    /// libtorch's name of the precision.
    pub fn kind(self) -> Kind {
        kind(self.dtype)
    }
}

/// Sets the number of CPU threads; `None` restores libtorch's default. The number of threads affects the last bits of a
/// result.
pub fn set_threads(threads: Option<u32>) {
    static AT_START: OnceLock<i32> = OnceLock::new();
    let at_start = *AT_START.get_or_init(tch::get_num_threads);
    tch::set_num_threads(threads.and_then(|threads| i32::try_from(threads).ok()).unwrap_or(at_start));
}

/// Numbers of the host as a tensor on `device`. For a GPU they are put into pinned memory first, so that the copy waits for no
/// earlier work.
pub(crate) fn upload<T: Element>(values: &[T], device: Device) -> Result<Tensor> {
    let here = Tensor::f_from_slice(values)?;
    if !device.is_cuda() {
        return Ok(here.f_to_device(device)?);
    }
    // `f_pin_memory` always names the device, which libtorch warns of twice for each tensor.
    Ok(here.f_internal_pin_memory(device)?.f_to_device_(device, here.kind(), true, false)?)
}

/// The name of the GPU that CUDA counts as `index`, such as `NVIDIA H100 80GB HBM3`; `None` if there is no driver to tell it.
pub fn gpu_name(index: usize) -> Option<String> {
    cuda::name(index)
}

fn device(asked: &str) -> Result<Device> {
    let refuse = |reason: String| EngineError::Device { asked: asked.to_owned(), reason };
    let index = match asked {
        "cpu" => return Ok(Device::Cpu),
        "auto" if cuda::load().is_err() || !tch::Cuda::is_available() => return Ok(Device::Cpu),
        "auto" | "cuda" => 0,
        other => other
            .strip_prefix("cuda:")
            .and_then(|index| index.parse::<usize>().ok())
            .ok_or_else(|| refuse("use auto, cpu, cuda or cuda:N".to_owned()))?,
    };
    cuda::load().map_err(&refuse)?;
    let count = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
    if index >= count {
        return Err(refuse(format!("libtorch sees {count} CUDA devices")));
    }
    cuda::note(index);
    Ok(Device::Cuda(index))
}
