//! Root-mean-square norm (Zhang and Sennrich 2019).

use lyceum_kernels::norm as kernel;
use tch::Tensor;

use crate::error::Result;
use crate::host;

/// `x / √(mean(x²) + eps) · weight` over the last dimension; the statistics are computed in fp32.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    if let (Some(numbers), Some(weight)) = (host::numbers(x), host::numbers(weight)) {
        let mut out = x.f_empty_like()?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernel::rms_norm(host::threads(), numbers, weight, eps as f32, out);
        }
        return Ok(out);
    }
    Ok(x.f_rms_norm([weight.size()[weight.dim() - 1]], Some(weight), eps)?)
}
