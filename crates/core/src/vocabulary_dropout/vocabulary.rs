//! What is known of a base's vocabulary without a tokenizer, so that a mask that cannot be is refused before a run begins.

use serde_json::Value;
use std::collections::HashSet;

use super::VocabularyDropout;
use crate::fault::Fault;

/// The vocabulary of a base model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The base's name.
    pub base: String,
    /// Tokens, as the model counts them.
    pub size: u64,
    /// What it can spell.
    pub spelling: Spelling,
}

/// The texts that a vocabulary can spell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// Only the tokenizer can tell.
    #[default]
    Unknown,
    /// Any text, byte by byte.
    Any,
    /// Its tokens, and texts of letters that are tokens.
    Tokens(HashSet<String>),
}

impl Spelling {
    /// Of a `tokenizer.json` (Hugging Face).
    pub fn of_tokenizer(tokenizer: &Value) -> Self {
        let model = &tokenizer["model"];
        let pieces = match &model["vocab"] {
            Value::Object(ids) => ids.keys().cloned().collect(),
            Value::Array(scored) => scored
                .iter()
                .filter_map(|piece| piece[0].as_str().map(str::to_owned))
                .collect(),
            _ => HashSet::new(),
        };
        let has_bytes = || (0..=255_u8).all(|byte| pieces.contains(&format!("<0x{byte:02X}>")));
        let parts = ["normalizer", "pre_tokenizer", "decoder"];
        if parts.iter().any(|part| is_byte_level(&tokenizer[*part])) || (model["byte_fallback"] == true && has_bytes())
        {
            return Self::Any;
        }
        let is_plain = tokenizer["normalizer"].is_null() && (model["type"] == "BPE" || model["type"] == "Unigram");
        if !is_plain || pieces.is_empty() {
            return Self::Unknown;
        }
        let added = tokenizer["added_tokens"].as_array().into_iter().flatten();
        let added = added.filter_map(|token| token["content"].as_str().map(str::to_owned));
        Self::Tokens(pieces.into_iter().chain(added).collect())
    }

    /// Whether a text is known to have no spelling.
    fn lacks(&self, text: &str) -> bool {
        let Self::Tokens(tokens) = self else {
            return false;
        };
        let mut letters = text.chars().filter(|letter| !letter.is_whitespace());
        !tokens.contains(text) && !letters.all(|letter| tokens.contains(letter.encode_utf8(&mut [0; 4]) as &str))
    }
}

/// Whether a part of a tokenizer, or a part of it, works on bytes.
fn is_byte_level(part: &Value) -> bool {
    match part {
        Value::Object(fields) => part["type"] == "ByteLevel" || fields.values().any(is_byte_level),
        Value::Array(parts) => parts.iter().any(is_byte_level),
        _ => false,
    }
}

impl VocabularyDropout {
    /// The faults of masks over this vocabulary. `pointer` is that of the dropout in the config.
    pub fn vocabulary_faults(&self, pointer: &str, vocabulary: &Vocabulary) -> Vec<Fault> {
        let Vocabulary { base, size, spelling } = vocabulary;
        let mut faults = Vec::new();
        let mut fault = |field: String, detail: String| faults.push(Fault::new(format!("{pointer}/{field}"), detail));
        for (place, id) in self.protected_ids.iter().enumerate() {
            if u64::from(*id) >= *size {
                let last = size.saturating_sub(1);
                let detail = format!("{id} is outside of the vocabulary of `{base}`: 0 to {last} is valid");
                fault(format!("protected_ids/{place}"), detail);
            }
        }
        for (place, text) in self.protected_texts.iter().enumerate() {
            if spelling.lacks(text) {
                let detail = format!("the vocabulary of `{base}` has no tokens for `{text}`: remove it");
                fault(format!("protected_texts/{place}"), detail);
            }
        }
        // The end of text is always kept, so one more token is needed.
        let has_another = !self.protected_ids.is_empty() || !self.protected_texts.is_empty();
        if self.keep_rate > 0.0 && self.keep_rate * (*size as f64) < 1.0 && !has_another {
            let detail = format!(
                "{} of the {size} tokens of `{base}` leaves none besides the end of text: at least {} is valid, or protect tokens",
                self.keep_rate,
                1.0 / *size as f64
            );
            fault("keep_rate".to_owned(), detail);
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn vocabulary(tokenizer: &Value) -> Vocabulary {
        Vocabulary {
            base: "small".to_owned(),
            size: 100,
            spelling: Spelling::of_tokenizer(tokenizer),
        }
    }

    fn pointers(document: Value, tokenizer: &Value) -> Vec<String> {
        let dropout: VocabularyDropout = serde_json::from_value(document).unwrap();
        let faults = dropout.vocabulary_faults("/d", &vocabulary(tokenizer));
        faults.into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn what_the_vocabulary_lacks_is_refused_at_its_field() {
        let letters = json!({
            "added_tokens": [{"content": "<q>"}],
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "cd": 3}},
        });
        let texts = json!({"keep_rate": 0.5, "protected_texts": ["<q>", "a b", "cd", "dc", "<z>"]});
        assert_eq!(
            pointers(texts.clone(), &letters),
            ["/d/protected_texts/3", "/d/protected_texts/4"]
        );
        for any in [
            json!({"model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}}),
            json!({"model": {"type": "WordPiece", "vocab": {"a": 0}}}),
            json!({"model": {"type": "BPE", "vocab": {"a": 0}}, "normalizer": {"type": "NFC"}}),
            json!({}),
        ] {
            assert!(pointers(texts.clone(), &any).is_empty(), "{any}");
        }
        let ids = json!({"keep_rate": 0.5, "protected_ids": [0, 99, 100]});
        assert_eq!(pointers(ids, &letters), ["/d/protected_ids/2"]);
        assert_eq!(pointers(json!({"keep_rate": 0.009}), &letters), ["/d/keep_rate"]);
        assert!(pointers(json!({"keep_rate": 0.009, "protected_ids": [3]}), &letters).is_empty());
        assert!(pointers(json!({"keep_rate": 0.01}), &letters).is_empty());
    }

    #[test]
    fn bytes_spell_everything_if_all_are_there() {
        let pieces =
            |bytes: u32| -> Vec<Value> { (0..bytes).map(|byte| json!([format!("<0x{byte:02X}>"), 0.0])).collect() };
        let tokenizer = |bytes| json!({"model": {"type": "Unigram", "byte_fallback": true, "vocab": pieces(bytes)}});
        assert_eq!(Spelling::of_tokenizer(&tokenizer(256)), Spelling::Any);
        assert_ne!(Spelling::of_tokenizer(&tokenizer(255)), Spelling::Any);
    }
}
