//! The gradient of the root-mean-square norm.

use lyceum_kernels::norm as kernel;
use tch::{Kind, Tensor};

use crate::error::Result;
use crate::host;

/// The gradient with respect to `x` `[T, width]` of `x / √(mean(x²) + eps) · weight`, given the gradient with respect
/// to its result; computed in fp32, returned in the type of `x`.
pub(super) fn rms_norm_backward(gradient: &Tensor, x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let width = x.size()[1];
    if let (Some(gradient), Some(numbers), Some(weight)) =
        (host::numbers(gradient), host::numbers(x), host::numbers(weight))
    {
        let mut out = x.f_empty_like()?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernel::rms_norm_backward(host::threads(), gradient, numbers, weight, eps as f32, out);
        }
        return Ok(out);
    }
    let wide = x.f_to_kind(Kind::Float)?;
    let reciprocal = wide
        .f_linalg_norm(2, [1].as_slice(), true, Kind::Float)?
        .f_square()?
        .f_div_scalar(width)?
        .f_add_scalar(eps)?
        .f_rsqrt()?;
    let mut weighted = gradient.f_to_kind(Kind::Float)?.f_mul(weight)?;
    let along = weighted
        .f_mul(&wide)?
        .f_sum_dim_intlist([1].as_slice(), true, Kind::Float)?
        .f_mul(&reciprocal.f_pow_tensor_scalar(3)?)?
        .f_div_scalar(-width)?;
    let _ = weighted.f_mul_(&reciprocal)?.f_addcmul_(&wide, &along)?;
    Ok(weighted.f_to_kind(x.kind())?)
}
