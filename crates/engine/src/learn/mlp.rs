//! The gradient of the gated MLP's nonlinearity.

use tch::Tensor;

use crate::error::Result;

/// The gradient with respect to `gate_up` `[T, 2 · width]` of `silu(gate) · up`, given the one with respect to its result
/// `[T, width]`.
pub(super) fn gated_backward(gradient: &Tensor, gate_up: &Tensor) -> Result<Tensor> {
    let width = gradient.size()[1];
    let (gate, up) = (gate_up.f_narrow(1, 0, width)?, gate_up.f_narrow(1, width, width)?);
    let result = gate_up.f_empty_like()?;
    let (mut by_gate, by_up) = (result.f_narrow(1, 0, width)?, result.f_narrow(1, width, width)?);
    let sigmoid = gate.f_sigmoid()?;
    // silu = gate · σ, and its derivative σ + silu · (1 − σ).
    let mut silu = gate.f_mul(&sigmoid)?;
    let _ = silu.f_mul_out(&by_up, gradient)?;
    let slope = silu.f_addcmul_(&silu.f_neg()?, &sigmoid)?.f_add_(&sigmoid)?;
    let _ = slope.f_mul_out(&by_gate, up.as_ref())?;
    let _ = by_gate.f_mul_(gradient)?;
    Ok(result)
}
