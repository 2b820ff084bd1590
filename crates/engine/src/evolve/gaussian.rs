//! Gaussian noise in proportion to a tensor's own spread, for M2 and M4.

use super::{Draws, Module, Note, Notes};

/// Adds noise of `epsilon` standard deviations of each factor: first A, then B, row by row. A constant factor, such as
/// the B of a fresh adapter, gets noise on the scale of a fresh A: uniform values within ±1/√inputs have deviation
/// 1/√(3 · inputs).
pub(super) fn add(module: Module, epsilon: f64, draws: &mut dyn Draws, notes: &Notes) -> Module {
    let fresh = 1.0 / (3.0 * module.inputs as f64).sqrt();
    let mut constant = false;
    let noisy = module.map(|factor| {
        let spread = standard_deviation(factor);
        constant |= spread == 0.0;
        let scale = (epsilon * if spread == 0.0 { fresh } else { spread }) as f32;
        let mut noise = [0.0; 1024];
        for values in factor.chunks_mut(noise.len()) {
            let noise = &mut noise[..values.len()];
            draws.normals(noise);
            for (value, noise) in values.iter_mut().zip(noise.iter()) {
                *value += scale * noise;
            }
        }
    });
    if constant {
        notes.count(Note::InitialScale);
    }
    noisy
}

/// The sample standard deviation (n − 1 in the denominator); 0 for fewer than two values.
fn standard_deviation(values: &[f32]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = sum(values, f64::from) / values.len() as f64;
    let squares = sum(values, |value| {
        let apart = f64::from(value) - mean;
        apart * apart
    });
    (squares / (values.len() - 1) as f64).sqrt()
}

fn sum(values: &[f32], term: impl Fn(f32) -> f64) -> f64 {
    const LANES: usize = 8;
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|&value| term(value)).sum();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += term(chunk[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}
