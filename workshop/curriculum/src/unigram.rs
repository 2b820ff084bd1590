//! Tokenizers of small vocabularies.
//!
//! A unigram model in which every piece costs the same, so a text is split into as few pieces as possible. The pieces
//! are the printable ASCII characters and words; any other character is split into its bytes.

use serde_json::{Value, json};

use crate::tokenizer::{EOS, PAD, UNKNOWN};

/// The score of a real piece; placeholder pieces score far lower.
const PIECE: f64 = -1.0;
const PLACEHOLDER: f64 = -1000.0;

/// A Hugging Face `tokenizer.json` with these markers and pieces. Markers are ordinary words of the vocabulary.
pub(crate) fn unigram(markers: &[&str], pieces: impl Iterator<Item = String>) -> Value {
    let mut vocabulary: Vec<(String, f64)> = [PAD, EOS, UNKNOWN]
        .into_iter()
        .chain(markers.iter().copied())
        .map(|token| (token.to_owned(), PLACEHOLDER))
        .collect();
    let characters = (' '..='~').chain(['\n']).map(String::from);
    vocabulary.extend(characters.chain(pieces).map(|piece| (piece, PIECE)));
    vocabulary.extend(fallback_bytes().map(|byte| (format!("<0x{byte:02X}>"), PLACEHOLDER)));
    let added = |(id, content): (usize, &&str)| added_token(id, content, !markers.contains(content));
    let added: Vec<Value> = [PAD, EOS, UNKNOWN].iter().chain(markers).enumerate().map(added).collect();
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

/// A `tokenizer.json` with more markers at the end of its vocabulary, so that all other ids stay.
pub(crate) fn with_markers(mut tokenizer: Value, markers: &[&str]) -> Value {
    let first = tokenizer["model"]["vocab"].as_array().map_or(0, Vec::len);
    for (id, content) in (first..).zip(markers) {
        if let Some(vocabulary) = tokenizer["model"]["vocab"].as_array_mut() {
            vocabulary.push(json!([content, PLACEHOLDER]));
        }
        if let Some(added) = tokenizer["added_tokens"].as_array_mut() {
            added.push(added_token(id, content, false));
        }
    }
    tokenizer
}

fn added_token(id: usize, content: &str, special: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        "special": special,
    })
}

/// The UTF-8 bytes not covered by any piece: control characters and all bytes of multi-byte characters.
fn fallback_bytes() -> impl Iterator<Item = u8> {
    (0x00..=0x1F).filter(|&byte| byte != b'\n').chain(0x7F..=0xBF).chain(0xC2..=0xF4)
}
