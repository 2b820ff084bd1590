//! The renamed, constant-masked form of a program: it is the same for programs that differ only in names and constants.

use std::collections::{BTreeMap, HashMap};

use lyceum_verifier::Verifier;

use crate::execute::{Candidate, Executed};
use crate::message::message;
use crate::trace::runs;

/// Keywords and built-in names, which are kept.
const KEPT: &[&str] = &[
    "def",
    "f",
    "return",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "in",
    "not",
    "and",
    "or",
    "break",
    "continue",
    "True",
    "False",
    "None",
    "abs",
    "dict",
    "enumerate",
    "len",
    "list",
    "max",
    "min",
    "range",
    "set",
    "sorted",
    "str",
    "sum",
    "zip",
    "append",
    "count",
    "find",
    "get",
    "items",
    "join",
    "replace",
    "strip",
    "swapcase",
    "title",
    "upper",
    "values",
];

/// A token of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Name(&'a str),
    Constant,
    Other(&'a str),
}

/// Splits source into names, constants and the rest, including line breaks and indentation.
fn pieces(source: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = source;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length_while = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let (piece, length) = if first.is_alphabetic() || first == '_' {
            let length = length_while(|c| c.is_alphanumeric() || c == '_');
            (Piece::Name(&rest[..length]), length)
        } else if first.is_ascii_digit() {
            (Piece::Constant, length_while(|c| c.is_ascii_alphanumeric() || c == '.'))
        } else if first == '\'' || first == '"' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|&(_, c)| {
                let ends = c == first && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            (Piece::Constant, end.map_or(rest.len(), |(at, c)| at + c.len_utf8()))
        } else {
            (Piece::Other(&rest[..first.len_utf8()]), first.len_utf8())
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// The identifiers of a piece of source in order, keywords and built-ins among them.
pub fn identifiers(source: &str) -> impl Iterator<Item = &str> {
    pieces(source).filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        _ => None,
    })
}

/// The identifiers chosen by the program itself.
pub fn own_names(source: &str) -> impl Iterator<Item = &str> {
    identifiers(source).filter(|name| !KEPT.contains(name))
}

/// The form: names numbered in order of first appearance, every constant replaced by `0`.
pub fn masked_form(source: &str) -> String {
    let mut numbers = HashMap::new();
    let mut form = String::with_capacity(source.len());
    for piece in pieces(source) {
        match piece {
            Piece::Name(name) if KEPT.contains(&name) => form.push_str(name),
            Piece::Name(name) => {
                let next = numbers.len();
                let number = *numbers.entry(name).or_insert(next);
                form.push('v');
                form.push_str(&number.to_string());
            }
            Piece::Constant => form.push('0'),
            Piece::Other(other) => form.push_str(other),
        }
    }
    form
}

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
            let others = group.iter().cycle().skip(place + 1).take(CANDIDATES.min(group.len() - 1));
            chosen.extend(others.map(|&other| (at, other)));
        }
    }
    for chunk in chosen.chunks(CHUNK) {
        let inputs = |of: &Executed| of.pairs.iter().map(|(input, _)| input.clone()).collect();
        let found =
            runs(verifier, chunk.iter().map(|&(at, other)| (programs[other].source.as_str(), inputs(&programs[at]))));
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

#[cfg(test)]
mod tests {
    use super::masked_form;

    #[test]
    fn names_and_constants_make_no_difference_but_structure_does() {
        let form = masked_form("def f(a,s):\n return s*a+'x'");
        assert_eq!(form, "def f(v0,v1):\n return v1*v0+0");
        assert_eq!(form, masked_form("def f(n,t):\n return t*n+'it\\'s'"));
        assert_ne!(form, masked_form("def f(a,s):\n return a*s+'x'"));
        assert_ne!(form, masked_form("def f(a,s):\n return (s*a)+'x'"));
    }
}
