//! The crossovers (PopuLoRA, appendix 8).

use std::cell::Cell;

use super::{Crossover, Draws, Module, Note, Notes, Svd};

/// X1, DARE (Yu et al. 2024): drop and rescale, then average.
///
/// Each value of the four factors is dropped with probability p, and the rest are divided by 1 − p; the child is the
/// mean of the parents. A value is kept if the number drawn for it is at least p. Draws for A of the first parent, A of
/// the second, B of the first and B of the second, row by row.
pub(super) struct X1 {
    pub(super) p: f64,
}

impl Crossover for X1 {
    fn cross(&self, _: usize, mut first: Module, mut second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        // Halved already, for the mean.
        let scale = (0.5 / (1.0 - self.p)) as f32;
        let p = self.p as f32;
        for factor in [&mut first.a, &mut second.a, &mut first.b, &mut second.b] {
            draws.with_uniforms(factor, |_, values, drawn| {
                for (value, &drawn) in values.iter_mut().zip(drawn) {
                    *value *= if drawn >= p { scale } else { 0.0 };
                }
            });
        }
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first += second;
            }
        })
    }
}

/// X2, layer-wise crossover: whole modules from either parent.
///
/// Each module comes from the first parent if the number drawn from {0, 1} is 0, else from the second.
pub(super) struct X2;

impl Crossover for X2 {
    fn cross(&self, _: usize, first: Module, second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        if draws.index(2) == 0 { first } else { second }
    }
}

/// X3, SVD subspace crossover: the top of one parent's spectrum, the tail of the other's.
///
/// U = [U₁ up to column k | U₂ from column k], Σ and V likewise, with k ~ Uniform{1, …, r − 1} drawn for each module; then the
/// balanced split. At rank 1 the first parent's only component is taken.
pub(super) struct X3;

impl Crossover for X3 {
    fn cross(&self, _: usize, first: Module, second: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let rank = first.rank;
        let k = if rank > 1 { 1 + draws.index(rank - 1) } else { 1 };
        let (mut top, tail) = match (Svd::of(&first), Svd::of(&second)) {
            (Some(top), Some(tail)) => (top, tail),
            (None, Some(_)) => {
                notes.count(Note::OtherCopied);
                return second;
            }
            (Some(_), None) => {
                notes.count(Note::OtherCopied);
                return first;
            }
            (None, None) => {
                notes.count(Note::ZeroCopied);
                return first;
            }
        };
        for (top, tail) in top.u.chunks_exact_mut(rank).zip(tail.u.chunks_exact(rank)) {
            top[k..].copy_from_slice(&tail[k..]);
        }
        top.s[k..].copy_from_slice(&tail.s[k..]);
        let kept = k * first.inputs;
        top.vt[kept..].copy_from_slice(&tail.vt[kept..]);
        let before = top.s.clone();
        top.split(&before)
    }
}

/// X4, extrapolation past the second parent (after task arithmetic, Ilharco et al. 2023).
///
/// A = A₁ + η (A₂ − A₁) and B likewise, with one η ~ Uniform(η_min, η_max) for the whole child.
pub(super) struct X4 {
    eta: f32,
}

impl X4 {
    pub(super) fn new(eta_min: f64, eta_max: f64, draws: &mut dyn Draws) -> Self {
        let drawn = f64::from(draws.uniform());
        Self { eta: (eta_min + drawn * (eta_max - eta_min)) as f32 }
    }
}

impl Crossover for X4 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first += self.eta * (second - *first);
            }
        })
    }
}

/// X5, the linear merge of task arithmetic (Ilharco et al. 2023).
///
/// α P₁ + (1 − α) P₂ for every factor.
pub(super) struct X5 {
    pub(super) alpha: f64,
}

impl Crossover for X5 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        weighted(first, &second, self.alpha)
    }
}

/// α P₁ + (1 − α) P₂ for every factor.
pub(super) fn weighted(first: Module, second: &Module, alpha: f64) -> Module {
    let (of_first, of_second) = (alpha as f32, (1.0 - alpha) as f32);
    first.zip(second, |first, second| {
        for (first, second) in first.iter_mut().zip(second) {
            *first = of_first * *first + of_second * second;
        }
    })
}

/// linear_0_5, the plain mean: the baseline for crossovers.
///
/// X5 at α = 0.5.
pub(super) struct Linear05;

impl Crossover for Linear05 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        weighted(first, &second, 0.5)
    }
}

/// X6, the TIES merge (Yadav et al. 2023): trim, elect a sign, average the values that have it.
///
/// Per factor: the ⌊τ n⌋ values of smallest magnitude in each parent become zero (together with any of equal
/// magnitude), the sign of the parents' sum is elected, and the values with that sign are averaged; if there are none,
/// the child's value is zero.
pub(super) struct X6 {
    pub(super) tau: f64,
}

impl Crossover for X6 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            let (of_first, of_second) = (self.threshold(first), self.threshold(second));
            let trimmed = |value: f32, threshold: Option<f32>| match threshold {
                Some(threshold) if value.abs() <= threshold => 0.0,
                _ => value,
            };
            for (first, &second) in first.iter_mut().zip(second) {
                *first = elected(trimmed(*first, of_first), trimmed(second, of_second));
            }
        })
    }
}

impl X6 {
    /// The magnitude up to which values are trimmed; `None` if none are.
    fn threshold(&self, values: &[f32]) -> Option<f32> {
        let last = ((self.tau * values.len() as f64).floor() as usize).checked_sub(1)?;
        // For non-negative finite values, the bit patterns sort like the numbers.
        let mut magnitudes: Vec<u32> = values.iter().map(|value| value.abs().to_bits()).collect();
        let (_, &mut threshold, _) = magnitudes.select_nth_unstable(last);
        Some(f32::from_bits(threshold))
    }
}

/// The mean of the values that have the sign of the sum; 0 if neither has.
fn elected(first: f32, second: f32) -> f32 {
    let sum = first + second;
    match (agrees(first, sum), agrees(second, sum)) {
        (true, true) => sum / 2.0,
        (true, false) => first,
        (false, true) => second,
        (false, false) => 0.0,
    }
}

fn agrees(value: f32, sum: f32) -> bool {
    (value > 0.0 && sum > 0.0) || (value < 0.0 && sum < 0.0)
}

/// X7, DELLA (Deep et al. 2024): smaller values are dropped more often; the rest are scaled up.
///
/// Per factor and parent: values are ranked from the largest magnitude (0) to the smallest (n − 1), ties by position. A
/// value of rank i is dropped with probability p = ε + (1 − ε) i/(n − 1) and otherwise divided by 1 − p; the child is
/// the mean of the parents. A value is kept if the number drawn for it is at least p. Draws for A of the first parent,
/// A of the second, B of the first and B of the second, row by row.
pub(super) struct X7 {
    pub(super) epsilon: f64,
}

impl Crossover for X7 {
    fn cross(&self, _: usize, mut first: Module, mut second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        for factor in [&mut first.a, &mut second.a, &mut first.b, &mut second.b] {
            self.thin(factor, draws);
        }
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first = (*first + second) / 2.0;
            }
        })
    }
}

impl X7 {
    fn thin(&self, values: &mut [f32], draws: &mut dyn Draws) {
        let mut ranking = RANKING.take();
        let ranks = ranking.of(values);
        let slope = (1.0 - self.epsilon) / (values.len().max(2) - 1) as f64;
        draws.with_uniforms(values, |start, values, drawn| {
            // Branch-free: which values are kept is unpredictable.
            for ((value, &rank), &drawn) in values.iter_mut().zip(&ranks[start..]).zip(drawn) {
                let p = self.epsilon + slope * f64::from(rank);
                let scaled = (f64::from(*value) / (1.0 - p)) as f32;
                *value = if f64::from(drawn) >= p { scaled } else { 0.0 };
            }
        });
        RANKING.set(ranking);
    }
}

thread_local! {
    // Reused: these are megabytes that the system would zero anew for each of hundreds of factors.
    static RANKING: Cell<Ranking> = Cell::default();
}

/// Buffers for ranking values.
#[derive(Default)]
struct Ranking {
    keys: Vec<u64>,
    sorted: Vec<u64>,
    ranks: Vec<u32>,
}

impl Ranking {
    /// For each position, the number of values that are larger in magnitude, or equal and earlier. A stable radix sort
    /// by the bits of the magnitude, which sort like the numbers.
    fn of(&mut self, values: &[f32]) -> &[u32] {
        const DIGITS: usize = 1 << 8;
        // The magnitude's complement in the high bits, the position in the low bits.
        let key = |(place, value): (usize, &f32)| {
            (u64::from(u32::MAX >> 1) - u64::from(value.abs().to_bits())) << 32 | place as u64
        };
        self.keys.clear();
        self.keys.extend(values.iter().enumerate().map(key));
        self.sorted.resize(values.len(), 0);
        for shift in [32, 40, 48, 56] {
            let digit = |key: u64| (key >> shift) as usize % DIGITS;
            let mut starts = [0_u32; DIGITS];
            for &key in &self.keys {
                starts[digit(key)] += 1;
            }
            let mut next = 0;
            for start in &mut starts {
                (*start, next) = (next, next + *start);
            }
            for &key in &self.keys {
                let start = &mut starts[digit(key)];
                self.sorted[*start as usize] = key;
                *start += 1;
            }
            std::mem::swap(&mut self.keys, &mut self.sorted);
        }
        self.ranks.resize(values.len(), 0);
        for (rank, key) in self.keys.iter().enumerate() {
            self.ranks[(key & u64::from(u32::MAX)) as usize] = rank as u32;
        }
        &self.ranks
    }
}

/// X8, spherical linear interpolation.
///
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

/// X9, a Fisher-weighted merge without data (after Matena and Raffel 2022).
///
/// (F₁ p₁ + F₂ p₂)/(F₁ + F₂ + ε) per value, with Fᵢ = pᵢ² in place of the diagonal of the Fisher information. Computed
/// in fp64, where the cube of a small fp32 number does not underflow.
pub(super) struct X9 {
    pub(super) epsilon: f64,
}

impl Crossover for X9 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            for (first, &second) in first.iter_mut().zip(second) {
                let (p, q) = (f64::from(*first), f64::from(second));
                let (f, g) = (p * p, q * q);
                *first = ((f * p + g * q) / (f + g + self.epsilon)) as f32;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_largest_magnitude_is_first_and_equals_keep_their_order(
            values in prop::collection::vec(prop_oneof![Just(0.0_f32), Just(-0.0), Just(1.5), Just(-1.5), any::<f32>()], 0..400),
        ) {
            let values: Vec<f32> = values.into_iter().filter(|value| value.is_finite()).collect();
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|&x, &y| values[y].abs().total_cmp(&values[x].abs()));
            let mut ranking = Ranking::default();
            ranking.of(&[1.0; 500]);
            let ranks = ranking.of(&values);
            prop_assert!(order.iter().enumerate().all(|(rank, &place)| ranks[place] == rank as u32));
        }
    }
}
