//! How often a decision is false: studies without an effect, drawn again and again.

use rand::Rng as _;
use rand_distr::{Distribution as _, StandardNormal};

use super::{Effect, Expectation, Outcome, Pairing, Sample};
use crate::seed::stream;

/// Studies of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Seeds of each arm.
    pub seeds: usize,
    pub problems: usize,
    /// The error over problems divided by that over seeds; infinite if seeds do not vary.
    pub ratio: f64,
    /// The variance of the second arm's seeds divided by that of the first.
    pub variance: f64,
    /// Whether a seed ends in one of two places, as where a run finds a way of answering or does not; else it is normal.
    pub is_two_valued: bool,
}

impl Cell {
    /// The share of `trials` in which a difference is shown although there is none.
    pub fn false_decisions(&self, trials: u32, seed: u64) -> f64 {
        let mut random = stream(seed, "false decisions", 0);
        let spreads = if self.ratio.is_infinite() { [0.0; 2] } else { [1.0, self.variance.sqrt()] };
        let error_of_seeds = (spreads.iter().map(|spread| spread * spread).sum::<f64>() / self.seeds as f64).sqrt();
        // Two arms share the variance of the differences by problem.
        let error_of_problems = if self.ratio.is_infinite() { 1.0 } else { self.ratio * error_of_seeds };
        let spread_of_problems = error_of_problems * (self.problems as f64 / 2.0).sqrt();
        let mut arm = |spread: f64| -> Vec<Vec<f64>> {
            let of_problems: Vec<f64> = (0..self.problems).map(|_| spread_of_problems * normal(&mut random)).collect();
            let seeds: Vec<f64> = (0..self.seeds)
                .map(|_| match self.is_two_valued {
                    true => spread * if random.random::<bool>() { 1.0 } else { -1.0 },
                    false => spread * normal(&mut random),
                })
                .collect();
            seeds.iter().map(|of_seed| of_problems.iter().map(|of_problem| of_seed + of_problem).collect()).collect()
        };
        let mut shown = 0;
        for _ in 0..trials {
            let [ours, theirs] = spreads.map(&mut arm);
            let effect = Effect::of(Sample::Seeds(&ours), Sample::Seeds(&theirs), Pairing::Independent);
            let is_shown = |effect: &Effect| {
                let sides = [Expectation::Higher(0.0), Expectation::Lower(0.0)];
                sides.into_iter().any(|side| Outcome::of(side, effect) == Outcome::Appears)
            };
            shown += u32::from(effect.is_ok_and(|effect| is_shown(&effect)));
        }
        f64::from(shown) / f64::from(trials)
    }
}

fn normal(random: &mut impl rand::Rng) -> f64 {
    StandardNormal.sample(random)
}
