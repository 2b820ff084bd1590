//! The seedling's tokenizer as a Hugging Face `tokenizer.json`.
//!
//! A unigram model in which every piece costs the same, so a text is split into as few pieces as possible. The pieces
//! are the printable ASCII characters, words of code, and words of messages; any other character is split into its
//! bytes. Digits and the letters of strings are always single tokens.

use serde_json::{Value, json};

use crate::message;

/// Padding. Never generated and never seen by the model.
pub const PAD: &str = "<pad>";
/// The end of a completion.
pub const EOS: &str = "<eos>";
const UNKNOWN: &str = "<unk>";

/// The markers of the prompt format. They are not special tokens: decoding must keep them, because completions are
/// parsed by them.
pub const MARKERS: [&str; 11] = [
    "<po>", "<pi>", "<pf>", "<so>", "<si>", "<sf>", "<ref>", "<prog>", "<in>", "<out>", "<msg>",
];

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

/// The score of a real piece; placeholder pieces score far lower.
const PIECE: f64 = -1.0;
const PLACEHOLDER: f64 = -1000.0;

/// The file's contents.
#[must_use]
pub fn tokenizer_json() -> Value {
    let mut vocabulary: Vec<(String, f64)> = [PAD, EOS, UNKNOWN]
        .into_iter()
        .chain(MARKERS)
        .map(|token| (token.to_owned(), PLACEHOLDER))
        .collect();
    let characters = (' '..='~').chain(['\n']).map(String::from);
    let mut words: Vec<&str> = message::vocabulary().collect();
    words.sort_unstable();
    words.dedup();
    let words = CODE.iter().chain(&words).map(|&word| word.to_owned());
    vocabulary.extend(characters.chain(words).map(|piece| (piece, PIECE)));
    vocabulary.extend(fallback_bytes().map(|byte| (format!("<0x{byte:02X}>"), PLACEHOLDER)));
    let added = |(id, content): (usize, &&str)| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": !MARKERS.contains(content),
        })
    };
    let added: Vec<Value> = [PAD, EOS, UNKNOWN]
        .iter()
        .chain(&MARKERS)
        .enumerate()
        .map(added)
        .collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": vocabulary, "byte_fallback": true},
    })
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

/// The UTF-8 bytes not covered by any piece: control characters and all bytes of multi-byte characters.
fn fallback_bytes() -> impl Iterator<Item = u8> {
    (0x00..=0x1F)
        .filter(|&byte| byte != b'\n')
        .chain(0x7F..=0xBF)
        .chain(0xC2..=0xF4)
}
