//! Random programs.

use std::collections::HashMap;
use std::fmt;

use lyceum_core::seed;
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use crate::body;
use crate::expr::Type;
use crate::grammar::Grammar;
use crate::masked::own_names;

/// Difficulty of a program: 1 is one expression; 2 has a temporary, a branch or a longer expression; 3 a loop that
/// builds a result; 4 a branch in the loop; 5 several loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Level(u8);

impl Level {
    /// From easiest to hardest.
    pub const ALL: [Self; 5] = [Self(1), Self(2), Self(3), Self(4), Self(5)];

    /// The level as a number from 1.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Maximum length of the source in characters: longer programs cost a small model more than they teach.
    #[must_use]
    pub fn longest_source(self) -> usize {
        50 + 30 * usize::from(self.0)
    }
}

impl TryFrom<u8> for Level {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            1..=5 => Ok(Self(number)),
            other => Err(format!("{other} is not a level; use 1 to 5")),
        }
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A random program that has not been run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Python with a function `f`, indented by one space per level and without optional spaces.
    pub source: String,
    pub parameters: Vec<Type>,
    pub level: Level,
}

impl Program {
    /// The program with number `item` for `seed`. It uses every one of its names.
    #[must_use]
    pub fn random(seed: u64, level: Level, item: u64) -> Self {
        let mut rng = seed::stream(seed, &format!("program/{level}"), item);
        loop {
            if let Some(program) = draw(&mut rng, level) {
                return program;
            }
        }
    }
}

fn draw(rng: &mut ChaCha12Rng, level: Level) -> Option<Program> {
    let count = if rng.random_bool(0.55) { 1 } else { 2 };
    let mut parameters: Vec<(&'static str, Type)> = Vec::with_capacity(count);
    let mut grammar = Grammar::new(rng);
    while parameters.len() < count {
        let of = grammar.pick(&[
            Type::Int,
            Type::Int,
            Type::Int,
            Type::Str,
            Type::Str,
            Type::Ints,
            Type::Ints,
            Type::Ints,
            Type::Strs,
            Type::Dict,
        ]);
        let names = of.parameter_names();
        let name = grammar.pick(names);
        if parameters.iter().all(|(taken, _)| *taken != name) {
            parameters.push((name, of));
        }
    }
    for &(name, of) in &parameters {
        grammar.bind(name, of);
    }
    let result = grammar.pick(&[
        Type::Int,
        Type::Int,
        Type::Int,
        Type::Str,
        Type::Str,
        Type::Ints,
        Type::Ints,
        Type::Strs,
        Type::Dict,
    ]);
    let lines = body::draw(&mut grammar, level, result)?;
    let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let source = lines.under(&format!("def f({}):", names.join(",")));
    (source.len() <= level.longest_source() && uses_every_name(&source)).then(|| Program {
        source,
        parameters: parameters.into_iter().map(|(_, of)| of).collect(),
        level,
    })
}

/// Whether each name is read: it occurs more often than it is bound.
fn uses_every_name(source: &str) -> bool {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for name in own_names(source) {
        *places.entry(name).or_default() += 1;
    }
    let mut loops: HashMap<&str, usize> = HashMap::new();
    for head in source.split("for ").skip(1) {
        let bound = head.split_once(" in ").map_or("", |(bound, _)| bound);
        for name in bound.split(',') {
            *loops.entry(name).or_default() += 1;
        }
    }
    // Each loop that binds a name must also read it.
    places.iter().all(|(name, &count)| count >= 2 * loops.get(name).copied().unwrap_or(1))
}
