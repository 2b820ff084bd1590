//! Vocabulary dropout (arXiv 2604.03472, section 4.1): a random part of the vocabulary is hidden from each batch of
//! proposals, so that a proposer cannot settle on fixed wordings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashSet;

use crate::fault::Fault;
use crate::work::VocabularyMask;

/// Hides tokens at random from batches of proposals. A batch is an item of work (`items.propose` prompts), and every
/// batch has a mask of its own. Tokens are masked while proposals are sampled; updates learn from log-probabilities
/// without the mask.
///
/// The model's end of text and the stop ids of the proposals are always kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VocabularyDropout {
    /// Probability of keeping a token (the paper's α); 1 hides none.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub keep_rate: f64,
    /// Keep rate of the last iteration, to which the rate rises along a line (section 7); left out, it stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub anneal_to: Option<f64>,
    /// The stages in which proposals are masked.
    #[serde(default)]
    pub stages: MaskedStages,
    /// Texts whose tokens are always kept, such as tags, digits or operators (the paper's F). A text that the base's
    /// vocabulary cannot spell is refused, at the latest by the first batch.
    #[serde(default)]
    pub protected_texts: Vec<String>,
    /// Ids of tokens that are always kept.
    #[serde(default)]
    pub protected_ids: Vec<u32>,
}

/// The stages in which proposals are masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaskedStages {
    /// Whenever the proposer proposes.
    #[default]
    Both,
    /// Only while the proposer learns.
    Train,
    /// Only while it generates the curriculum.
    Generation,
}

/// What a proposal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The proposer learns from it.
    Train,
    /// It may enter the curriculum.
    Generation,
}

impl VocabularyDropout {
    /// The keep rate in `iteration`, from 0, of `iterations`.
    pub fn keep_rate(&self, iteration: u32, iterations: u32) -> f64 {
        let Some(last) = self.anneal_to else { return self.keep_rate };
        let share = f64::from(iteration) / f64::from(iterations.saturating_sub(1).max(1));
        self.keep_rate + (last - self.keep_rate) * share.min(1.0)
    }

    /// The mask of a batch for `purpose` in an iteration at this `keep_rate`, drawn from the batch's `seed`; `None` if
    /// nothing is hidden.
    pub fn mask(&self, purpose: Purpose, keep_rate: f64, seed: u64) -> Option<VocabularyMask> {
        let is_masked = match self.stages {
            MaskedStages::Both => true,
            MaskedStages::Train => purpose == Purpose::Train,
            MaskedStages::Generation => purpose == Purpose::Generation,
        };
        (is_masked && keep_rate < 1.0).then(|| VocabularyMask {
            seed,
            keep_rate,
            protected: self.protected_ids.clone(),
            protected_texts: self.protected_texts.clone(),
        })
    }

    /// The faults that a schema cannot express. `pointer` is that of the dropout in the config; `bases` are the base
    /// models of the run's populations.
    pub fn faults(&self, pointer: &str, bases: &[&str]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| faults.push(Fault::new(format!("{pointer}/{field}"), detail));
        if !is_rate(self.keep_rate) {
            fault("keep_rate", format!("{}: more than 0 and up to 1 is valid", self.keep_rate));
        }
        if let Some(last) = self.anneal_to.filter(|last| !(*last >= self.keep_rate && is_rate(*last))) {
            let detail = format!("{last}: `keep_rate` ({}) to 1 is valid, or none", self.keep_rate);
            fault("anneal_to", detail);
        }
        if let Some(empty) = self.protected_texts.iter().position(|text| text.trim().is_empty()) {
            fault(&format!("protected_texts/{empty}"), "an empty text has no tokens: remove it".to_owned());
        }
        let other = bases.iter().find(|base| **base != bases[0]);
        if let Some(other) = other.filter(|_| !self.protected_ids.is_empty()) {
            let detail = format!(
                "ids name different tokens in different vocabularies, and the populations have the bases {} and {other}: \
                 protect tokens by `protected_texts`",
                bases[0]
            );
            fault("protected_ids", detail);
        }
        faults
    }
}

fn is_rate(rate: f64) -> bool {
    rate.partial_cmp(&0.0) == Some(Ordering::Greater) && rate <= 1.0
}

// What is known of a base's vocabulary without a tokenizer, so that a mask that cannot be is refused before a run begins.

/// The vocabulary of a base model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The base's name.
    pub base: String,
    /// Tokens, as the model counts them.
    pub size: u64,
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
            Value::Array(scored) => scored.iter().filter_map(|piece| piece[0].as_str().map(str::to_owned)).collect(),
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
        let Self::Tokens(tokens) = self else { return false };
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
    use serde_json::json;

    use super::*;

    fn dropout(document: serde_json::Value) -> VocabularyDropout {
        VocabularyDropout::deserialize(document).unwrap()
    }

    #[test]
    fn the_rate_rises_along_a_line() {
        let annealed = dropout(json!({"keep_rate": 0.75, "anneal_to": 1.0}));
        let rates: Vec<f64> = (0..5).map(|iteration| annealed.keep_rate(iteration, 5)).collect();
        assert_eq!(rates, [0.75, 0.8125, 0.875, 0.9375, 1.0], "section 7");
        assert_eq!(annealed.keep_rate(0, 1), 0.75);
        assert_eq!(dropout(json!({"keep_rate": 0.85})).keep_rate(3, 5), 0.85);
    }

    #[test]
    fn stages_and_rates_without_a_mask_have_none() {
        let masked = |stages: &str, rate: f64| {
            let dropout = dropout(json!({"keep_rate": 0.9, "stages": stages, "protected_texts": ["<q>"]}));
            [Purpose::Train, Purpose::Generation].map(|purpose| dropout.mask(purpose, rate, 3).is_some())
        };
        assert_eq!(masked("both", 0.9), [true, true]);
        assert_eq!(masked("train", 0.9), [true, false]);
        assert_eq!(masked("generation", 0.9), [false, true]);
        assert_eq!(masked("both", 1.0), [false, false]);
        let mask = dropout(json!({"keep_rate": 0.9, "protected_ids": [7], "protected_texts": ["<q>"]}));
        let mask = mask.mask(Purpose::Train, 0.95, 3).unwrap();
        assert_eq!((mask.seed, mask.keep_rate), (3, 0.95));
        assert_eq!((mask.protected, mask.protected_texts), (vec![7], vec!["<q>".to_owned()]));
    }

    #[test]
    fn what_cannot_be_is_refused_at_its_field() {
        let pointers = |document: serde_json::Value, bases: &[&str]| -> Vec<String> {
            let faults = dropout(document).faults("/d", bases);
            faults.into_iter().map(|fault| fault.pointer).collect()
        };
        for rate in [0.0, -0.5, 1.5] {
            assert_eq!(pointers(json!({"keep_rate": rate}), &["a"]), ["/d/keep_rate"]);
        }
        let mut unknown = dropout(json!({"keep_rate": 0.5}));
        unknown.keep_rate = f64::NAN;
        assert_eq!(unknown.faults("/d", &["a"])[0].pointer, "/d/keep_rate");
        for last in [0.5, 1.5] {
            let annealed = json!({"keep_rate": 0.75, "anneal_to": last});
            assert_eq!(pointers(annealed, &["a"]), ["/d/anneal_to"]);
        }
        assert!(pointers(json!({"keep_rate": 0.75, "anneal_to": 0.75}), &["a"]).is_empty());
        let texts = json!({"keep_rate": 0.75, "protected_texts": ["x", " "]});
        assert_eq!(pointers(texts, &["a"]), ["/d/protected_texts/1"]);
        let ids = json!({"keep_rate": 0.75, "protected_ids": [3]});
        assert!(pointers(ids.clone(), &["a", "a"]).is_empty());
        assert_eq!(pointers(ids, &["a", "b"]), ["/d/protected_ids"]);
        assert!(pointers(json!({"keep_rate": 0.75}), &["a", "b"]).is_empty());
    }

    fn vocabulary(tokenizer: &Value) -> Vocabulary {
        Vocabulary { base: "small".to_owned(), size: 100, spelling: Spelling::of_tokenizer(tokenizer) }
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
        assert_eq!(pointers(texts.clone(), &letters), ["/d/protected_texts/3", "/d/protected_texts/4"]);
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
