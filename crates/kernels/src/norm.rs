//! The root-mean-square norm (Zhang and Sennrich 2019) and its gradient.

use multiversion::multiversion;

use crate::share::{ROWS, share};
use crate::sum::of_pairs;

/// `x / √(mean(x²) + eps) · weight` for rows `x` as long as `weight`.
///
/// # Panics
/// If `x` and `out` are not equal numbers of whole rows.
pub fn rms_norm(threads: usize, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    assert!(x.len() == out.len() && x.len().is_multiple_of(width));
    let jobs = x.chunks(width * ROWS).zip(out.chunks_mut(width * ROWS));
    share(threads, jobs, |(x, out)| forward(x, weight, eps, out));
}

/// The gradient with respect to rows `x` of `x / √(mean(x²) + eps) · weight`, given that of the result; a row is as
/// long as `weight`.
///
/// # Panics
/// If `gradient`, `x` and `out` are not equal numbers of whole rows.
pub fn rms_norm_backward(threads: usize, gradient: &[f32], x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    assert!(gradient.len() == x.len() && x.len() == out.len() && x.len().is_multiple_of(width));
    let rows = width * ROWS;
    let jobs = gradient.chunks(rows).zip(x.chunks(rows)).zip(out.chunks_mut(rows));
    share(threads, jobs, |((gradient, x), out)| backward(gradient, x, weight, eps, out));
}

#[multiversion(targets = "simd")]
fn forward(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let reciprocal = 1.0 / (of_pairs(x, x, |x, y| x * y) / width as f32 + eps).sqrt();
        for ((out, &x), &weight) in out.iter_mut().zip(x).zip(weight) {
            *out = x * reciprocal * weight;
        }
    }
}

#[multiversion(targets = "simd")]
fn backward(gradient: &[f32], x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    let rows = gradient.chunks_exact(width).zip(x.chunks_exact(width)).zip(out.chunks_exact_mut(width));
    for ((gradient, x), out) in rows {
        let reciprocal = 1.0 / (of_pairs(x, x, |x, y| x * y) / width as f32 + eps).sqrt();
        for ((out, &gradient), &weight) in out.iter_mut().zip(gradient).zip(weight) {
            *out = gradient * weight;
        }
        let along = of_pairs(out, x, |weighted, x| weighted * x) * reciprocal.powi(3) / width as f32;
        for (out, &x) in out.iter_mut().zip(x) {
            *out = *out * reciprocal - x * along;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{rms_norm, rms_norm_backward};

    proptest! {
        #[test]
        fn forward_and_backward_are_the_norm_and_its_slope(
            (rows, width) in (1usize..80, 1usize..50), threads in 1usize..4, seed in vec(-3.0f32..3.0, 11..29)
        ) {
            let cycle = |step: usize, count| -> Vec<f32> { seed.iter().copied().cycle().skip(step).take(count).collect() };
            let (x, gradient, weight) = (cycle(0, rows * width), cycle(5, rows * width), cycle(2, width));
            let mut out = vec![0.0; rows * width];
            rms_norm_backward(threads, &gradient, &x, &weight, 1e-3, &mut out);
            let mut normed = vec![0.0; rows * width];
            rms_norm(threads, &x, &weight, 1e-3, &mut normed);
            let norm = |x: &[f64]| -> Vec<f64> {
                let root = (x.iter().map(|x| x * x).sum::<f64>() / width as f64 + 1e-3).sqrt();
                x.iter().zip(&weight).map(|(x, &weight)| x / root * f64::from(weight)).collect()
            };
            // The loss with this gradient.
            let loss = |row: usize, x: &[f64]| -> f64 {
                let gradient = &gradient[row * width..][..width];
                norm(x).iter().zip(gradient).map(|(normed, &gradient)| normed * f64::from(gradient)).sum()
            };
            for row in [0, rows - 1] {
                let wide: Vec<f64> = x[row * width..][..width].iter().map(|&x| f64::from(x)).collect();
                for (found, wanted) in normed[row * width..].iter().zip(norm(&wide)) {
                    prop_assert!((f64::from(*found) - wanted).abs() < 1e-5 * (1.0 + wanted.abs()));
                }
                for at in 0..width {
                    let moved = |h: f64| {
                        let mut x = wide.clone();
                        x[at] += h;
                        loss(row, &x)
                    };
                    let (slope, found) = ((moved(1e-6) - moved(-1e-6)) / 2e-6, f64::from(out[row * width + at]));
                    prop_assert!((found - slope).abs() < 2e-4 * (1.0 + slope.abs()), "{found} for {slope}");
                }
            }
        }
    }
}
