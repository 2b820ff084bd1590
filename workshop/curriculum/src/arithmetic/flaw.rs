//! Faults that a critic learns to notice: wrong answers, ambiguous and malformed questions, bad plans.

use lyceum_core::arithmetic::wording::THINGS;
use lyceum_core::arithmetic::{Judgement, Rational, judge};
use rand::Rng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha12Rng;

use super::exercise::{Exercise, one_of};
use super::steps::{plan, plan_value};

/// How good a question with its answer is, or a plan. The scores are those of Multi-Agent Evolve's rubric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// Wrong or malformed: 1 to 3.
    Bad,
    /// Ambiguous or incomplete: 4 to 7.
    Doubtful,
    /// Without a fault: 8 to 10.
    Sound,
}

impl Quality {
    /// One of the qualities: as many are sound as are not.
    pub fn draw(rng: &mut ChaCha12Rng) -> Self {
        match rng.random_range(0..8) {
            0..4 => Self::Sound,
            4..6 => Self::Doubtful,
            _ => Self::Bad,
        }
    }

    /// A score for it, from 1 to 10.
    pub fn score(self, rng: &mut ChaCha12Rng) -> u8 {
        match self {
            Self::Bad => rng.random_range(1..=3),
            Self::Doubtful => rng.random_range(4..=7),
            Self::Sound => rng.random_range(8..=10),
        }
    }

    /// The quality that a score stands for.
    #[must_use]
    pub fn of_score(score: u8) -> Self {
        match score {
            0..=3 => Self::Bad,
            4..=7 => Self::Doubtful,
            _ => Self::Sound,
        }
    }
}

/// A question and a stated answer of a given quality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flawed {
    pub question: String,
    /// The stated answer.
    pub answer: String,
}

impl Flawed {
    /// The exercise with a fault, or without one if it is to be sound.
    pub fn question(exercise: &Exercise, quality: Quality, rng: &mut ChaCha12Rng) -> Self {
        loop {
            // Shuffled words may happen to be another valid question.
            let drawn = Self::drawn(exercise, quality, rng);
            if drawn.is_of(quality) {
                return drawn;
            }
        }
    }

    fn drawn(exercise: &Exercise, quality: Quality, rng: &mut ChaCha12Rng) -> Self {
        let (question, value) = (exercise.question.as_str(), exercise.value);
        let of = |question: &str, value: Rational| Self { question: question.to_owned(), answer: value.to_string() };
        match quality {
            Quality::Sound => of(question, value),
            Quality::Doubtful => of(&vague(question, rng), value),
            Quality::Bad if rng.random_bool(0.3) => of(&garbled(question, rng), value),
            Quality::Bad => of(question, wrong(value, rng)),
        }
    }

    /// Whether the evaluator agrees that it has this quality: doubtful and malformed questions have no definite value.
    #[must_use]
    pub fn is_of(&self, quality: Quality) -> bool {
        match judge(&self.question, &self.answer) {
            Judgement::Right => quality == Quality::Sound,
            Judgement::Wrong { .. } => quality == Quality::Bad,
            Judgement::Unknown(_) => quality != Quality::Sound,
        }
    }
}

/// A number near the right one, or its opposite.
fn wrong(value: Rational, rng: &mut ChaCha12Rng) -> Rational {
    let by = [1, 2, 10, 3, 100][rng.random_range(0..5)] * if rng.random_bool(0.5) { 1 } else { -1 };
    match rng.random_range(0..10) {
        0 if value != -value => -value,
        1 if value != value * 2 => value * 2,
        _ if value.is_integer() => value + by,
        _ => Rational::new(value.numer() + by, *value.denom()),
    }
}

/// The question with "some" for a number, or about other things than those in the story.
fn vague(question: &str, rng: &mut ChaCha12Rng) -> String {
    if let Some((story, asked)) = question.rsplit_once("How many ")
        && let Some((what, rest)) = asked.split_once(' ')
        && THINGS.contains(&what)
        && rng.random_bool(0.5)
    {
        let others: Vec<&str> = THINGS.iter().copied().filter(|thing| *thing != what).collect();
        let other = one_of(&others, rng).unwrap_or(what);
        return format!("{story}How many {other} {rest}");
    }
    let numbers = numbers(question);
    match one_of(&numbers, rng) {
        Some((start, end)) => format!("{}some{}", &question[..start], &question[end..]),
        None => question.to_owned(),
    }
}

/// The byte ranges of the numbers in a text.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices(|letter: char| letter.is_ascii_digit()) {
        match found.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

/// The question cut short, or with its words in another order.
fn garbled(question: &str, rng: &mut ChaCha12Rng) -> String {
    let mut words: Vec<&str> = question.split(' ').collect();
    if rng.random_bool(0.5) {
        words.truncate(rng.random_range(1..=words.len().div_ceil(2)));
    } else {
        words.shuffle(rng);
    }
    words.join(" ")
}

/// A plan of this quality, or a sound one if there is none.
pub fn flawed_plan(exercise: &Exercise, quality: Quality, rng: &mut ChaCha12Rng) -> (String, Quality) {
    let operations = plan(&exercise.expression).unwrap_or_default();
    let drawn = spoilt(&operations, quality, rng).filter(|plan| {
        let is_right = plan_value(plan) == Some(exercise.value);
        is_right == (quality == Quality::Sound)
    });
    match drawn {
        Some(plan) => (plan, quality),
        None => (operations.join(";"), Quality::Sound),
    }
}

/// A plan with a fault: without its last operation if it is to be doubtful, with a wrong sign or number if bad. `None`
/// if there is no such plan.
fn spoilt(operations: &[String], quality: Quality, rng: &mut ChaCha12Rng) -> Option<String> {
    match quality {
        Quality::Sound => Some(operations.join(";")),
        Quality::Doubtful => {
            let (_, before) = operations.split_last()?;
            (!before.is_empty()).then(|| before.join(";"))
        }
        Quality::Bad => {
            let mut changed = operations.to_vec();
            let at = rng.random_range(0..changed.len());
            let (name, operation) = changed[at].split_once('=')?;
            let numbers = numbers(operation);
            let operation = match one_of(&numbers, rng).filter(|_| rng.random_bool(0.5)) {
                Some((start, end)) => {
                    let number: u64 = operation[start..end].parse().ok()?;
                    let other = number + rng.random_range(1..=9);
                    format!("{}{other}{}", &operation[..start], &operation[end..])
                }
                None => {
                    let (start, sign) = operation.char_indices().find(|(_, letter)| "+-*/%".contains(*letter))?;
                    let others: Vec<char> = "+-*".chars().filter(|other| *other != sign).collect();
                    format!("{}{}{}", &operation[..start], one_of(&others, rng)?, &operation[start + 1..])
                }
            };
            changed[at] = format!("{name}={operation}");
            Some(changed.join(";"))
        }
    }
}
