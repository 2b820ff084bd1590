//! Programs that a solver might take for the one to be found.

use std::collections::BTreeMap;

use lyceum_verifier::Verifier;

use crate::execute::{Candidate, Executed};
use crate::message::message;
use crate::trace::runs;

/// Candidates per program.
const CANDIDATES: usize = 2;
/// The highest level whose programs get candidates: longer ones do not fit into an answer several times.
const HIGHEST: u8 = 3;
/// Programs run at a time.
const CHUNK: usize = 4_096;

/// Gives programs of the lower levels others with the same parameters and a message that is alike, run on their inputs.
pub(crate) fn add_candidates(verifier: &Verifier, programs: &mut [Executed]) {
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, program) in programs.iter().enumerate() {
        if program.level.number() <= HIGHEST {
            let definition = program.source.lines().next().unwrap_or_default();
            alike.entry(definition).or_default().push(at);
        }
    }
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for mut group in alike.into_values() {
        // Neighbours in this order have the same words, or the first words in common.
        group.sort_by_cached_key(|&at| message(&programs[at].source));
        for (place, &at) in group.iter().enumerate() {
            let others = group
                .iter()
                .cycle()
                .skip(place + 1)
                .take(CANDIDATES.min(group.len() - 1));
            chosen.extend(others.map(|&other| (at, other)));
        }
    }
    for chunk in chosen.chunks(CHUNK) {
        let inputs = |of: &Executed| of.pairs.iter().map(|(input, _)| input.clone()).collect();
        let found = runs(
            verifier,
            chunk
                .iter()
                .map(|&(at, other)| (programs[other].source.as_str(), inputs(&programs[at]))),
        );
        let candidates: Vec<Candidate> = chunk
            .iter()
            .zip(found)
            .map(|(&(_, other), runs)| Candidate {
                source: programs[other].source.clone(),
                runs: runs.unwrap_or_default(),
            })
            .collect();
        for (&(at, _), candidate) in chunk.iter().zip(candidates) {
            programs[at].candidates.push(candidate);
        }
    }
}
