//! Limits to compare the product with: the time of libtorch's matrix products, and the peak rates of the device.

mod rollout;
mod update;

pub(crate) use rollout::{RolloutSize, rollout_products};
pub(crate) use update::{UpdateSize, update_products};

use lyceum_engine::error::Result;
use tch::{Device, Kind, Tensor};

use super::timed;

/// Bytes per second of a large copy on the device, counting reads and writes.
pub(crate) fn memory_bandwidth(device: Device) -> Result<f64> {
    let numbers = if device.is_cuda() { 1 << 29 } else { 1 << 26 };
    let source = Tensor::f_zeros([numbers], (Kind::Float, device))?;
    let mut target = source.f_ones_like()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(timed(device, || Ok(target.f_copy_(&source)?))?.wall.as_secs_f64());
    }
    Ok(2.0 * 4.0 * numbers as f64 / best)
}

/// Operations per second of a large square product; a multiplication and an addition count as two.
pub(crate) fn product_rate(device: Device, kind: Kind) -> Result<f64> {
    let width = if device.is_cuda() { 8192 } else { 1024 };
    let matrix = Tensor::f_randn([width, width], (kind, device))?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(timed(device, || matrix.f_matmul(&matrix).map(drop).map_err(Into::into))?.wall.as_secs_f64());
    }
    Ok(2.0 * (width as f64).powi(3) / best)
}
