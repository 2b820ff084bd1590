//! Vocabulary dropout (arXiv 2604.03472, section 4.1): a random part of the vocabulary is hidden from each batch of
//! proposals, so that a proposer cannot settle on fixed wordings.

mod vocabulary;

pub use vocabulary::{Spelling, Vocabulary};

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{fault::Fault, work::VocabularyMask};

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
        let Some(last) = self.anneal_to else {
            return self.keep_rate;
        };
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
            fault(
                "keep_rate",
                format!("{}: more than 0 and up to 1 is valid", self.keep_rate),
            );
        }
        if let Some(last) = self
            .anneal_to
            .filter(|last| !(*last >= self.keep_rate && is_rate(*last)))
        {
            let detail = format!("{last}: `keep_rate` ({}) to 1 is valid, or none", self.keep_rate);
            fault("anneal_to", detail);
        }
        if let Some(empty) = self.protected_texts.iter().position(|text| text.trim().is_empty()) {
            fault(
                &format!("protected_texts/{empty}"),
                "an empty text has no tokens: remove it".to_owned(),
            );
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert_eq!(
            (mask.protected, mask.protected_texts),
            (vec![7], vec!["<q>".to_owned()])
        );
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
}
