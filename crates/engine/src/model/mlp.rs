//! The gated MLP (SwiGLU).

use tch::Tensor;

use crate::error::Result;

/// `silu(gate) · up` of the two halves of `[T, 2 · intermediate_size]`.
pub(crate) fn gated(gate_up: &Tensor) -> Result<Tensor> {
    let width = gate_up.size()[1] / 2;
    let gate = gate_up.f_narrow(1, 0, width)?;
    let up = gate_up.f_narrow(1, width, width)?;
    Ok(gate.f_silu()?.f_mul(&up)?)
}
