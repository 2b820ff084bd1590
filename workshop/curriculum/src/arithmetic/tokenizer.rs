//! The tokenizer of `models/seedling-math`.
//!
//! The pieces are the words of the wordings, each with the space before it, and signs with their spaces. Every digit is a
//! token of its own.

use std::collections::BTreeSet;

use lyceum_core::arithmetic::wording::{
    ASKS, CHAIN_ENDS, CHAIN_LINKS, CHAIN_STARTS, INFIXES, PEOPLE, PHRASES, SHARE_END, STORY_CHANGES, STORY_ENDS,
    STORY_STARTS, TASKS, THINGS,
};
use serde_json::Value;

use super::chain::capitalised;
use crate::unigram::unigram;

/// The markers of the prompts in `configs/prompts/seedling-math` and the tags of completions.
pub const MARKERS: [&str; 18] = [
    "<propose>",
    "<solve>",
    "<challenge>",
    "<devise>",
    "<judge>",
    "<is>",
    "<use>",
    "<go>",
    "<question>",
    "</question>",
    "<type>",
    "</type>",
    "<answer>",
    "</answer>",
    "<plan>",
    "</plan>",
    "<score>",
    "</score>",
];

/// Pieces that are not words.
const SIGNS: [&str; 9] = ["\\boxed{", " + ", " - ", " * ", " / ", " % ", " = ", "math", " some"];

/// Words between those of the patterns.
const JOINS: [&str; 6] = ["and", "then", "is", "be", "percent", "of"];

/// The file's contents.
#[must_use]
pub fn tokenizer_json() -> Value {
    let pieces = SIGNS.iter().map(|&sign| sign.to_owned()).chain(words());
    unigram(&MARKERS, pieces)
}

/// Every word with the space before it, and the first word of a sentence in capitals with and without.
fn words() -> BTreeSet<String> {
    let stories = STORY_CHANGES.iter().map(|(pattern, _)| *pattern);
    let infixes = INFIXES.iter().map(|(words, _)| *words);
    let phrases = PHRASES.iter().map(|wording| wording.pattern);
    let inside = stories.chain(infixes).chain(phrases).chain(JOINS);
    let starts = STORY_STARTS.iter().chain(THINGS).copied();
    let sentences = TASKS.iter().chain(CHAIN_LINKS).map(|wording| wording.pattern);
    let sentences = sentences.chain([ASKS, CHAIN_STARTS, CHAIN_ENDS, STORY_ENDS].into_iter().flatten().copied());
    let mut pieces = BTreeSet::new();
    for text in inside.chain(starts) {
        pieces.extend(text.split_whitespace().filter_map(inner));
    }
    for text in sentences.chain([SHARE_END]) {
        pieces.extend(text.split_whitespace().skip(1).filter_map(inner));
        let first = text.split_whitespace().next().filter(|word| !word.starts_with('{'));
        pieces.extend(first.into_iter().flat_map(opening));
    }
    for (name, pronoun) in PEOPLE {
        pieces.extend([(*name).to_owned(), format!(" {name}")]);
        pieces.extend([format!(" {pronoun}"), format!(" {}", pronoun.to_lowercase())]);
    }
    pieces.extend(["Let", "If", " Then"].map(str::to_owned));
    // "If x is 3, what is x + 1?"
    pieces.extend(ASKS.iter().filter_map(|ask| inner(&ask.split(' ').next()?.to_lowercase())));
    pieces
}

/// A word with the space before it; a slot or a letter is none.
fn inner(word: &str) -> Option<String> {
    let word = word.trim_end_matches(['.', '?', ',']);
    let is_word = word.len() > 1 && !word.starts_with('{');
    is_word.then(|| format!(" {word}"))
}

/// A word that begins a sentence: in a chain of instructions also in lower case.
fn opening(word: &str) -> [String; 3] {
    let word = word.trim_end_matches(['.', '?', ',']);
    let capitalised = capitalised(word);
    [format!(" {}", word.to_lowercase()), format!(" {capitalised}"), capitalised]
}
