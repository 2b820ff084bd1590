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

/// Pieces that are no words.
const SIGNS: [&str; 9] = ["\\boxed{", " + ", " - ", " * ", " / ", " % ", " = ", "math", " some"];

/// Words beside those of the patterns.
const WORDS: [&str; 8] = ["Let", "If", "and", "then", "Then", "is", "percent", "of"];

/// The file's contents.
#[must_use]
pub fn tokenizer_json() -> Value {
    let pieces = SIGNS.iter().map(|&sign| sign.to_owned()).chain(words());
    unigram(&MARKERS, pieces)
}

/// Every word after a space, and capitalised at the beginning of a text.
fn words() -> BTreeSet<String> {
    let wordings = PHRASES
        .iter()
        .chain(TASKS)
        .chain(CHAIN_LINKS)
        .map(|wording| wording.pattern);
    let texts = [
        ASKS,
        CHAIN_STARTS,
        CHAIN_ENDS,
        STORY_STARTS,
        STORY_ENDS,
        THINGS,
        &WORDS,
        &[SHARE_END],
    ];
    let people = PEOPLE.iter().flat_map(|(name, pronoun)| [*name, *pronoun]);
    let all = wordings
        .chain(texts.into_iter().flatten().copied())
        .chain(INFIXES.iter().map(|(words, _)| *words))
        .chain(STORY_CHANGES.iter().map(|(pattern, _)| *pattern))
        .chain(people);
    let mut pieces = BTreeSet::new();
    for text in all {
        for (place, word) in text.split_whitespace().enumerate() {
            let word = word.trim_end_matches(['.', '?', ',']);
            if word.starts_with('{') || word.len() < 2 {
                continue;
            }
            pieces.insert(format!(" {word}"));
            if place == 0 && !THINGS.contains(&word) {
                pieces.insert(capitalised(word));
                pieces.insert(format!(" {}", capitalised(word)));
                pieces.insert(format!(" {}", word.to_lowercase()));
            }
        }
    }
    pieces
}
