//! The gated MLP (SwiGLU).

use lyceum_kernels::gated as kernel;
use tch::Tensor;

use crate::error::Result;
use crate::host;

/// `silu(gate) · up` of the two halves of `gate_up` `[T, 2 · intermediate_size]`.
pub(crate) fn gated(gate_up: &Tensor) -> Result<Tensor> {
    let (rows, width) = (gate_up.size()[0], gate_up.size()[1] / 2);
    if let Some(numbers) = host::numbers(gate_up) {
        let mut out = Tensor::f_empty([rows, width], (gate_up.kind(), gate_up.device()))?;
        if let Some(out) = host::numbers_mut(&mut out) {
            kernel::gated(host::threads(), width as usize, numbers, out);
        }
        return Ok(out);
    }
    let gate = gate_up.f_narrow(1, 0, width)?;
    let up = gate_up.f_narrow(1, width, width)?;
    Ok(gate.f_silu()?.f_mul(&up)?)
}
