//! Random arguments.

use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha12Rng;

use crate::types::Type;

/// The letters used in strings.
pub(crate) const LETTERS: [char; 6] = ['a', 'b', 'c', 'd', 'e', 'x'];

/// A random literal of a type, written compactly. Never empty, so that `x[0]` and `max(s)` have a value.
pub(crate) fn literal(of: Type, rng: &mut ChaCha12Rng) -> String {
    match of {
        Type::Int => {
            let number: i64 = if rng.random_bool(0.75) {
                rng.random_range(0..=9)
            } else {
                rng.random_range(10..=20)
            };
            number.to_string()
        }
        Type::Str => format!("'{}'", word(rng, 2..=4)),
        Type::Ints => {
            let items: Vec<String> = (0..rng.random_range(2..=4))
                .map(|_| rng.random_range(0..=9).to_string())
                .collect();
            format!("[{}]", items.join(","))
        }
        Type::Strs => {
            let items: Vec<String> = (0..rng.random_range(2..=3))
                .map(|_| format!("'{}'", word(rng, 1..=3)))
                .collect();
            format!("[{}]", items.join(","))
        }
        Type::Dict => {
            let mut letters = LETTERS;
            let count = rng.random_range(2..=3);
            for at in 0..count {
                let other = rng.random_range(at..letters.len());
                letters.swap(at, other);
            }
            let items: Vec<String> = letters[..count]
                .iter()
                .map(|letter| format!("'{letter}':{}", rng.random_range(0..=9)))
                .collect();
            format!("{{{}}}", items.join(","))
        }
    }
}

/// Random arguments of these types, separated by commas.
pub fn arguments(types: &[Type], rng: &mut ChaCha12Rng) -> String {
    let literals: Vec<String> = types.iter().map(|&of| literal(of, rng)).collect();
    literals.join(",")
}

fn word(rng: &mut ChaCha12Rng, lengths: std::ops::RangeInclusive<usize>) -> String {
    (0..rng.random_range(lengths))
        .map(|_| LETTERS.choose(rng).copied().unwrap_or('a'))
        .collect()
}
