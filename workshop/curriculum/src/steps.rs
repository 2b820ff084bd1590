//! Pairs of programs of which one is a step from the other: what GASP's teacher is to write for a problem that it is shown.

use std::collections::BTreeMap;

use crate::execute::Executed;
use crate::expr::Type;
use crate::masked::own_names;
use crate::message::{message, vocabulary};

/// Easier programs kept for each program, those with the most similar messages.
const PARTNERS: usize = 6;

/// Along what the harder program of a pair is harder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// The form of inputs: both programs are of the same level, and the easier one takes simpler values.
    Io,
    /// The program: both take inputs of the same form, and the easier one is one level lower.
    F,
}

/// The easier programs of each program of a list, as indices into it.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    io: Vec<Vec<u32>>,
    f: Vec<Vec<u32>>,
}

/// A program as far as pairs depend on it.
struct Sketch<'a> {
    /// The line with its parameters, whose names are their types.
    definition: &'a str,
    level: u8,
    /// How much its parameters hold.
    richness: u32,
    /// The words of its message, one bit each.
    words: u64,
}

impl Steps {
    /// Finds the pairs among programs. Messages of a pair have at least as many words in common as they differ in.
    #[must_use]
    pub fn among(programs: &[&Executed]) -> Self {
        let known: Vec<&str> = {
            let mut words: Vec<&str> = vocabulary().collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        let sketches: Vec<Sketch<'_>> = programs.iter().map(|program| sketch(program, &known)).collect();
        let mut of_form: BTreeMap<(u8, &str), Vec<u32>> = BTreeMap::new();
        for (at, sketch) in (0..).zip(&sketches) {
            of_form.entry((sketch.level, sketch.definition)).or_default().push(at);
        }
        let richness = |of: &[u32]| of.first().map_or(u32::MAX, |&at| sketches[at as usize].richness);
        let mut steps = Self::default();
        for harder in &sketches {
            let lower = of_form.get(&(harder.level.saturating_sub(1), harder.definition));
            steps.f.push(nearest(harder, lower.into_iter().flatten(), &sketches));
            let simpler = of_form
                .iter()
                .filter(|((level, _), of)| *level == harder.level && richness(of) < harder.richness)
                .flat_map(|(_, of)| of);
            steps.io.push(nearest(harder, simpler, &sketches));
        }
        steps
    }

    /// The programs that are a step easier than the one at `at`.
    #[must_use]
    pub fn easier(&self, axis: Axis, at: usize) -> &[u32] {
        let of = match axis {
            Axis::Io => &self.io,
            Axis::F => &self.f,
        };
        of.get(at).map_or(&[], Vec::as_slice)
    }
}

fn sketch<'a>(program: &'a Executed, known: &[&str]) -> Sketch<'a> {
    let words = message(&program.source);
    let bits = words
        .split(' ')
        .filter_map(|word| known.binary_search(&word).ok())
        .fold(0_u64, |bits, place| bits | (1_u64 << place));
    let definition = program.source.lines().next().unwrap_or_default();
    Sketch {
        definition,
        level: program.level.number(),
        richness: own_names(definition).filter_map(Type::of_parameter).map(richness).sum(),
        words: bits,
    }
}

/// How much a value of a type holds.
fn richness(of: Type) -> u32 {
    match of {
        Type::Int => 1,
        Type::Str | Type::Ints => 2,
        Type::Strs | Type::Dict => 3,
    }
}

/// Those whose messages are most similar to that of `harder`, the most similar ones first.
fn nearest<'a>(harder: &Sketch<'_>, among: impl Iterator<Item = &'a u32>, sketches: &[Sketch<'_>]) -> Vec<u32> {
    let mut alike: Vec<(u32, u32)> = among
        .filter_map(|&at| {
            let words = sketches[at as usize].words;
            let shared = (words & harder.words).count_ones();
            let all = (words | harder.words).count_ones();
            (2 * shared >= all).then(|| (1000 - 1000 * shared / all.max(1), at))
        })
        .collect();
    alike.sort_unstable();
    alike.truncate(PARTNERS);
    alike.into_iter().map(|(_, at)| at).collect()
}
