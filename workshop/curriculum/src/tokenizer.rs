//! The seedling's tokenizer as a Hugging Face `tokenizer.json`.
//!
//! The pieces are words of code and words of messages, in addition to single characters. Digits and the letters of strings are
//! always single tokens.

use serde_json::{Value, json};

use crate::message;
use crate::unigram::{unigram, with_markers};

/// Padding. Never generated and never seen by the model.
pub const PAD: &str = "<pad>";
/// The end of a completion.
pub const EOS: &str = "<eos>";
pub(crate) const UNKNOWN: &str = "<unk>";

/// The markers of the prompt format. They are not special tokens: decoding must keep them, because completions are
/// parsed by them.
pub const MARKERS: [&str; 11] =
    ["<po>", "<pi>", "<pf>", "<so>", "<si>", "<sf>", "<ref>", "<prog>", "<in>", "<out>", "<msg>"];

/// The markers of `configs/prompts/seedling-gasp` that the seedling does not know.
pub const STONE_MARKERS: [&str; 4] = ["<lemma_io>", "<lemma_f>", "<lift_io>", "<lift_f>"];

/// Pieces of programs.
const CODE: &[&str] = &[
    "def f(",
    "):\n return ",
    "):\n ",
    ":\n  ",
    ":\n   ",
    ":\n    ",
    "\n return ",
    "\n  return ",
    "\n   return ",
    "\n ",
    "\n  ",
    "\n   ",
    "\n    ",
    "return ",
    "return r",
    "if ",
    " if ",
    " else ",
    "else:\n   ",
    "for ",
    "for v in ",
    "for c in ",
    "for i in ",
    "for u in ",
    "for e in ",
    "for j in ",
    "for k,v in ",
    "for i,v in ",
    "for i,c in ",
    " for v in ",
    " for c in ",
    " for k,v in ",
    " in ",
    "while ",
    "break",
    "continue",
    " and ",
    " or ",
    "len(",
    "sum(",
    "max(",
    "min(",
    "abs(",
    "sorted(",
    "set(",
    "str(",
    "list(",
    "range(",
    "enumerate(",
    "dict(zip(",
    "''.join(",
    "'-'.join(",
    ".join(",
    ".append(",
    ".count(",
    ".find(",
    ".get(",
    ".upper()",
    ".title()",
    ".swapcase()",
    ".replace(",
    ".strip(",
    ".items()",
    ".values()",
    "[::-1]",
    "[1:]",
    "[:-1]",
    "[::2]",
    "[:2]",
    "[2:]",
    "[-2:]",
    "[0]",
    "[1]",
    "[-1]",
    "r=",
    "r+=",
    "r-=",
    "m=",
    "-=",
    "//=",
    "//",
    "==",
    "%2==",
    "%3==",
    ">0",
    "','",
    "['",
    "']",
    "{'",
    "':",
    ",'",
    "[]",
    "{}",
    "''",
    "**",
];

/// The file's contents.
#[must_use]
pub fn tokenizer_json() -> Value {
    let mut words: Vec<&str> = message::vocabulary().collect();
    words.sort_unstable();
    words.dedup();
    unigram(&MARKERS, CODE.iter().chain(&words).map(|&word| word.to_owned()))
}

/// The file's contents with the markers of stepping stones. They take spare ids of the seedling, whose weights can
/// therefore be trained further.
#[must_use]
pub fn stones_tokenizer_json() -> Value {
    with_markers(tokenizer_json(), &STONE_MARKERS)
}

/// The contents of `tokenizer_config.json`, for `transformers`.
#[must_use]
pub fn tokenizer_config_json(longest: i64) -> Value {
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": EOS,
        "unk_token": UNKNOWN,
        "model_max_length": longest,
        "clean_up_tokenization_spaces": false,
    })
}
