//! Root-mean-square norm (Zhang and Sennrich 2019).

use tch::Tensor;

use crate::error::Result;

/// `x / √(mean(x²) + eps) · weight` over the last dimension; the statistics are computed in fp32.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    Ok(x.f_rms_norm([weight.size()[weight.dim() - 1]], Some(weight), eps)?)
}
