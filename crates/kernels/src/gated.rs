//! The gated MLP's nonlinearity (SwiGLU, Shazeer 2020): `silu(gate) · up`, with `silu(x) = x · sigmoid(x)`.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use crate::exp::sigmoid;
use crate::share::{ROWS, share};

/// Computes rows of `width` numbers from rows `[gate | up]` of `2 · width`.
///
/// # Panics
/// If `out` is not half as long as `gate_up`, or the rows are not whole.
pub fn gated(threads: usize, width: usize, gate_up: &[f32], out: &mut [f32]) {
    assert!(gate_up.len() == 2 * out.len() && out.len().is_multiple_of(width));
    let jobs = gate_up.chunks(2 * width * ROWS).zip(out.chunks_mut(width * ROWS));
    share(threads, jobs, |(gate_up, out)| forward(width, gate_up, out));
}

/// Replaces `gate_up` with its gradient, given that of the result.
///
/// # Panics
/// If `gradient` is not half as long as `gate_up`, or the rows are not whole.
pub fn gated_backward(threads: usize, width: usize, gate_up: &mut [f32], gradient: &[f32]) {
    assert!(gate_up.len() == 2 * gradient.len() && gradient.len().is_multiple_of(width));
    let jobs = gate_up.chunks_mut(2 * width * ROWS).zip(gradient.chunks(width * ROWS));
    share(threads, jobs, |(gate_up, gradient)| {
        for (gate_up, gradient) in gate_up.chunks_exact_mut(2 * width).zip(gradient.chunks_exact(width)) {
            let (gate, up) = gate_up.split_at_mut(width);
            backward(gate, up, gradient);
        }
    });
}

#[multiversion(targets = "simd")]
fn forward(width: usize, gate_up: &[f32], out: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for (gate_up, out) in gate_up.chunks_exact(2 * width).zip(out.chunks_exact_mut(width)) {
        let (gate, up) = gate_up.split_at(width);
        for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
            *out = gate * sigmoid::<FUSED>(gate) * up;
        }
    }
}

/// For one row. The compiler knows that slices passed as arguments do not overlap.
#[multiversion(targets = "simd")]
fn backward(gate: &mut [f32], up: &mut [f32], gradient: &[f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for ((gate, up), &gradient) in gate.iter_mut().zip(up).zip(gradient) {
        let sigmoid = sigmoid::<FUSED>(*gate);
        let silu = *gate * sigmoid;
        // silu′(x) = sigmoid(x) · (1 + x − silu(x))
        *gate = gradient * *up * sigmoid * (1.0 + *gate - silu);
        *up = gradient * silu;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{gated, gated_backward};

    fn exact(gate: f64, up: f64) -> f64 {
        gate / (1.0 + (-gate).exp()) * up
    }

    proptest! {
        #[test]
        fn forward_and_backward_are_the_function_and_its_slopes(
            rows in 1usize..150, width in 1usize..40, threads in 1usize..4, seed in vec(-9.0f32..9.0, 7..23)
        ) {
            let cycle = |step: usize| seed.iter().copied().cycle().skip(step);
            let gate_up: Vec<f32> = cycle(0).take(rows * 2 * width).collect();
            let gradient: Vec<f32> = cycle(3).take(rows * width).collect();
            let mut out = vec![0.0; rows * width];
            gated(threads, width, &gate_up, &mut out);
            let mut by_both = gate_up.clone();
            gated_backward(threads, width, &mut by_both, &gradient);
            for row in 0..rows {
                for column in 0..width {
                    let at = row * 2 * width + column;
                    let (gate, up) = (f64::from(gate_up[at]), f64::from(gate_up[at + width]));
                    let (place, h) = (row * width + column, 1e-5);
                    let gradient = f64::from(gradient[place]);
                    let by_gate = gradient * (exact(gate + h, up) - exact(gate - h, up)) / (2.0 * h);
                    let by_up = gradient * exact(gate, 1.0);
                    let near = |found: f32, wanted: f64| (f64::from(found) - wanted).abs() < 1e-5 * (1.0 + wanted.abs());
                    prop_assert!(near(out[place], exact(gate, up)));
                    prop_assert!(near(by_both[at], by_gate) && near(by_both[at + width], by_up));
                }
            }
        }
    }
}
