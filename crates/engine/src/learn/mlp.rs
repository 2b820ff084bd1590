//! The gradient of the gated MLP's nonlinearity.

use lyceum_kernels::gated as kernel;
use tch::Tensor;

use crate::error::Result;
use crate::host;

/// The gradient with respect to `gate_up` `[T, 2 · width]` of `silu(gate) · up`, given the gradient with respect to its
/// result `[T, width]`; overwrites `gate_up` if possible.
pub(super) fn gated_backward(gradient: &Tensor, mut gate_up: Tensor) -> Result<Tensor> {
    let width = gradient.size()[1];
    if let (Some(gradient), Some(numbers)) = (host::numbers(gradient), host::numbers_mut(&mut gate_up)) {
        kernel::gated_backward(host::threads(), width as usize, numbers, gradient);
        return Ok(gate_up);
    }
    let (gate, up) = (gate_up.f_narrow(1, 0, width)?, gate_up.f_narrow(1, width, width)?);
    let result = gate_up.f_empty_like()?;
    let (by_gate, by_up) = (result.f_narrow(1, 0, width)?, result.f_narrow(1, width, width)?);
    let _ = gate.f_silu()?.f_mul_out(&by_up, gradient)?;
    let _ = gate.f_silu_backward_grad_input(&by_gate, &gradient.f_mul(&up)?)?;
    Ok(result)
}
