//! Random questions of graded difficulty.

use lyceum_core::arithmetic::{Expression, Rational};
use lyceum_core::seed;
use rand::Rng as _;
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use super::{chain, formula, story};
use crate::program::Level;

/// The source of questions. It decides which ones are held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Seed of the choice of held-out expressions.
    pub seed: u64,
    /// One expression in this many is held out, in all its wordings.
    pub hold_out_one_in: u64,
}

/// A question with its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exercise {
    pub level: Level,
    /// Its text.
    pub question: String,
    /// Its meaning.
    pub expression: Expression,
    /// The value of the expression.
    pub value: Rational,
}

/// The largest value and the largest denominator of an answer.
const LARGEST: i128 = 2_000;
const DENOMINATOR: i128 = 60;

/// The parts of a level: how often a question is a formula, a chain of instructions, one with variables, or a story.
fn shares(level: u8) -> [u32; 4] {
    match level {
        1 => [80, 0, 0, 20],
        2 => [55, 20, 5, 20],
        3 => [50, 15, 15, 20],
        4 => [65, 5, 10, 20],
        _ => [10, 30, 15, 45],
    }
}

impl Source {
    /// Whether an expression is kept for evaluation. Depends only on the seed and the expression's form.
    #[must_use]
    pub fn holds_out(&self, expression: &Expression) -> bool {
        seed::derive(self.seed, &expression.form(), 0).is_multiple_of(self.hold_out_one_in.max(2))
    }

    /// A question to learn from.
    pub fn training(&self, level: Level, rng: &mut ChaCha12Rng) -> Exercise {
        self.drawn(level, false, rng)
    }

    /// A question for evaluation.
    pub fn held_out(&self, level: Level, rng: &mut ChaCha12Rng) -> Exercise {
        self.drawn(level, true, rng)
    }

    fn drawn(&self, level: Level, held_out: bool, rng: &mut ChaCha12Rng) -> Exercise {
        loop {
            let exercise = Exercise::draw(level, rng);
            if self.holds_out(&exercise.expression) == held_out {
                return exercise;
            }
        }
    }
}

impl Exercise {
    /// A question of a level.
    pub fn draw(level: Level, rng: &mut ChaCha12Rng) -> Self {
        loop {
            let drawn = match kind(level, rng) {
                0 => formula::draw(level.number(), rng),
                1 => chain::instructions(level.number(), rng),
                2 => chain::variables(level.number(), rng),
                _ => story::draw(level.number(), rng),
            };
            // A fraction alone needs no operation.
            if let Some((question, expression)) = drawn.filter(|(_, expression)| !expression.is_fraction())
                && let Some(value) = expression.value().filter(is_small)
            {
                return Self { level, question, expression, value };
            }
        }
    }

    /// The answer in lowest terms.
    #[must_use]
    pub fn answer(&self) -> String {
        self.value.to_string()
    }
}

fn kind(level: Level, rng: &mut ChaCha12Rng) -> usize {
    WeightedIndex::new(shares(level.number())).map_or(0, |shares| shares.sample(rng))
}

fn is_small(value: &Rational) -> bool {
    (-LARGEST..=LARGEST).contains(value.numer()) && *value.denom() <= DENOMINATOR
}

/// A whole number from `low` to `high`.
pub(super) fn number(low: i64, high: i64, rng: &mut ChaCha12Rng) -> Expression {
    Expression::whole(rng.random_range(low..=high))
}

/// One of several, all equally likely.
pub(super) fn one_of<T: Copy>(choices: &[T], rng: &mut ChaCha12Rng) -> Option<T> {
    if choices.is_empty() { None } else { Some(choices[rng.random_range(0..choices.len())]) }
}

/// The pattern with its slots filled in order. Slots are written `{…}`.
pub(super) fn filled(pattern: &str, slots: &[String]) -> String {
    let mut slots = slots.iter();
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let (_, after) = after.split_once('}').unwrap_or(("", after));
        text.push_str(before);
        text.extend(slots.next().map(String::as_str));
        rest = after;
    }
    text + rest
}
