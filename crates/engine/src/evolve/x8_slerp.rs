//! X8, spherical linear interpolation.

use super::{Crossover, Draws, Module, Note, Notes};

/// Norms and sines below this count as zero, and interpolation is linear.
const NEAR_ZERO: f64 = 1e-6;

/// Per factor, as one vector: sin((1 − t) θ)/sin θ · a + sin(t θ)/sin θ · b with cos θ = ⟨a, b⟩/(‖a‖ ‖b‖), clipped to
/// [−1, 1]; (1 − t) a + t b if a norm or sin θ is near zero.
pub(super) struct X8 {
    pub(super) t: f64,
}

impl Crossover for X8 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, notes: &Notes) -> Module {
        let mut straight = false;
        let child = first.zip(&second, |first, second| {
            let (of_first, of_second) = self.weights(first, second).unwrap_or_else(|| {
                straight = true;
                (1.0 - self.t, self.t)
            });
            for (first, &second) in first.iter_mut().zip(second) {
                *first = (of_first * f64::from(*first) + of_second * f64::from(second)) as f32;
            }
        });
        if straight {
            notes.count(Note::StraightLine);
        }
        child
    }
}

impl X8 {
    fn weights(&self, first: &[f32], second: &[f32]) -> Option<(f64, f64)> {
        let (first_norm, second_norm) = (dot(first, first).sqrt(), dot(second, second).sqrt());
        if first_norm < NEAR_ZERO || second_norm < NEAR_ZERO {
            return None;
        }
        let cosine = (dot(first, second) / (first_norm * second_norm)).clamp(-1.0, 1.0);
        let theta = cosine.acos();
        let sine = theta.sin();
        (sine >= NEAR_ZERO).then(|| (((1.0 - self.t) * theta).sin() / sine, (self.t * theta).sin() / sine))
    }
}

fn dot(first: &[f32], second: &[f32]) -> f64 {
    const LANES: usize = 8;
    let (first, second) = (first.chunks_exact(LANES), second.chunks_exact(LANES));
    let product = |(&x, &y): (&f32, &f32)| f64::from(x) * f64::from(y);
    let rest: f64 = first.remainder().iter().zip(second.remainder()).map(product).sum();
    let mut sums = [0.0; LANES];
    for (first, second) in first.zip(second) {
        for lane in 0..LANES {
            sums[lane] += f64::from(first[lane]) * f64::from(second[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}
