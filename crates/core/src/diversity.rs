//! How much texts differ: the measures of diversity that need no model.

mod bleu;

pub use self::bleu::Wordlists;

use kodama::{Method, linkage};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::f64::consts::LN_2;
use std::ops::Range;

/// The phase of work that measures diversity.
pub const PHASE: &str = "diversity";

/// R-Zero's clusters of repeated questions (arXiv 2508.05004): agglomerative clustering with average linkage of the
/// distances 1 − BLEU; clusters merge while their distance is below `distance`. BLEU is not symmetric: the earlier text is
/// the candidate, as in R-Zero's code. Clusters are numbered from 0 in the order of their first texts.
pub fn bleu_clusters(texts: &[impl AsRef<str>], distance: f64) -> Vec<u32> {
    let count = texts.len();
    let mut top: Vec<usize> = (0..2 * count).collect();
    if count > 1 {
        let lists = Wordlists::new(texts);
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let mut distances: Vec<f32> = pairs.map(|(one, other)| (1.0 - lists.bleu(one, other)) as f32).collect();
        let tree = linkage(&mut distances, count, Method::Average);
        for (merged, step) in (count..).zip(tree.steps()) {
            if f64::from(step.dissimilarity) < distance {
                (top[step.cluster1], top[step.cluster2]) = (merged, merged);
            }
        }
    }
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let number = |text: usize| {
        let mut at = text;
        while top[at] != at {
            at = top[at];
        }
        let next = numbers.len() as u32;
        *numbers.entry(at).or_insert(next)
    };
    (0..count).map(number).collect()
}

/// The different numbers in a text, as written: digits, with a decimal part if a point and digits follow.
pub fn numbers(text: &str) -> BTreeSet<&str> {
    places(text).map(|place| &text[place]).collect()
}

/// The places of the numbers in a text, in order.
fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(|letter: char| letter.is_ascii_digit())?;
        let number = &text[start..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(number);
        let decimals = number[length..].strip_prefix('.').map_or(0, digits);
        if decimals > 0 {
            length += 1 + decimals;
        }
        from = start + length;
        Some(start..from)
    })
}

/// A wording, and how many texts have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// The text with `#` for every number and single spaces between words.
    pub text: String,
    /// The place of the first text with it.
    pub first: usize,
    /// Texts with it.
    pub count: usize,
}

/// The wordings of `texts`, the most frequent first; equally frequent ones in the order of their first texts.
pub fn wordings(texts: &[impl AsRef<str>]) -> Vec<Wording> {
    let mut found: Vec<Wording> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (first, text) in texts.iter().enumerate() {
        let text = wording(text.as_ref());
        match known.get(&text) {
            Some(place) => found[*place].count += 1,
            None => {
                known.insert(text.clone(), found.len());
                found.push(Wording { text, first, count: 1 });
            }
        }
    }
    found.sort_by_key(|wording| (std::cmp::Reverse(wording.count), wording.first));
    found
}

/// `text` with `#` for every number and single spaces between words.
fn wording(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    for place in places(text) {
        bare.push_str(&text[from..place.start]);
        bare.push('#');
        from = place.end;
    }
    bare.push_str(&text[from..]);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

// Epiplexity: how much structure of texts an observer can learn (arXiv 2601.03220; arXiv 2604.03472, appendix E.4).

/// The losses of an observer that learns texts, in nats, summed over tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObserverLosses {
    /// Loss of each batch of the first pass just before the observer learned from it: the prequential code length.
    pub online: f64,
    /// Tokens of the texts.
    pub tokens: u64,
    /// Tokens of the validation texts.
    pub validation_tokens: u64,
    /// After each pass, the loss on the texts and on the validation texts.
    pub passes: Vec<[f64; 2]>,
}

/// The epiplexity of texts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epiplexity {
    /// Loss while learning minus the loss once learned, in bits over all texts.
    pub bits: f64,
    /// The same per token.
    pub per_token: f64,
    /// The pass after which the texts count as learned, from 1.
    pub pass: u32,
}

impl ObserverLosses {
    /// Whether the loss on the validation texts has not fallen for `patience` passes.
    pub fn has_converged(&self, patience: u32) -> bool {
        let losses = || self.passes.iter().map(|[_, validation]| *validation);
        let lowest = losses().fold(f64::INFINITY, f64::min);
        let at = losses().position(|loss| loss <= lowest).unwrap_or(0);
        self.passes.len() > at + patience as usize
    }

    /// (L_online − L_train) / ln 2, after the pass that minimises the description length of a token: epiplexity / N_train
    /// + L_validation / (ln 2 · N_validation). `None` without tokens or passes.
    pub fn epiplexity(&self) -> Option<Epiplexity> {
        if self.tokens == 0 || self.validation_tokens == 0 {
            return None;
        }
        let (tokens, validation_tokens) = (self.tokens as f64, self.validation_tokens as f64);
        let after = (1..).zip(&self.passes).map(|(pass, [train, validation])| {
            let bits = (self.online - train) / LN_2;
            let length = bits / tokens + validation / (LN_2 * validation_tokens);
            (length, pass, bits)
        });
        let best = after.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (_, pass, bits) = best;
        Some(Epiplexity { bits, per_token: bits / tokens, pass })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_and_decimals_are_numbers() {
        let found = |text| numbers(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found("what is 12+3.50? It is 12."), ["12", "3.50"]);
        assert_eq!(found("x2 and 1.2.3"), ["1.2", "2", "3"]);
        assert!(found("none, é").is_empty());
    }

    #[test]
    fn texts_that_differ_in_numbers_share_a_wording() {
        let found = wordings(&["A is 12.5.", "what  is\n3+4 ?", "what is 10 + 4 ?", "what is 3+44 ?", "x2 1.2.3"]);
        let found: Vec<(&str, usize, usize)> =
            found.iter().map(|wording| (wording.text.as_str(), wording.first, wording.count)).collect();
        assert_eq!(found, [("what is #+# ?", 1, 2), ("A is #.", 0, 1), ("what is # + # ?", 2, 1), ("x# #.#", 4, 1)]);
        assert!(wordings(&[""; 0]).is_empty());
    }

    proptest! {
        #[test]
        fn every_text_has_one_wording_without_digits(texts in prop::collection::vec("[a-z0-9. ]{0,12}", 0..20)) {
            let found = wordings(&texts);
            prop_assert_eq!(found.iter().map(|wording| wording.count).sum::<usize>(), texts.len());
            for one in &found {
                prop_assert!(!one.text.contains(|letter: char| letter.is_ascii_digit()));
                prop_assert_eq!(wording(&texts[one.first]), one.text.as_str());
            }
        }
    }

    fn losses(passes: &[[f64; 2]]) -> ObserverLosses {
        ObserverLosses { online: 900.0, tokens: 300, validation_tokens: 40, passes: passes.to_vec() }
    }

    /// Computed with Python: `bits = (900 - train) / math.log(2)` and
    /// `min(range(4), key=lambda e: bits[e] / 300 + val[e] / (math.log(2) * 40))`.
    #[test]
    fn the_pass_with_the_shortest_description_counts() {
        let found = losses(&[[700.0, 100.0], [500.0, 60.0], [300.0, 45.0], [200.0, 44.0]]).epiplexity().unwrap();
        assert_eq!(found.pass, 2);
        assert!((found.bits - 577.078_016_355_585_4).abs() < 1e-9, "{}", found.bits);
        assert!((found.per_token - 1.923_593_387_851_951_3).abs() < 1e-12);
        assert_eq!(losses(&[]).epiplexity(), None);
        let none = ObserverLosses { tokens: 0, ..losses(&[[1.0, 1.0]]) };
        assert_eq!(none.epiplexity(), None);
    }

    #[test]
    fn training_ends_when_validation_stops_falling() {
        let falling = losses(&[[9.0, 9.0], [8.0, 8.0], [7.0, 7.0]]);
        assert!(!falling.has_converged(1));
        let risen = losses(&[[9.0, 9.0], [8.0, 8.0], [7.0, 8.5], [6.0, 8.0]]);
        assert!(risen.has_converged(2) && !risen.has_converged(3));
        assert!(!losses(&[]).has_converged(1));
        assert!(losses(&[[1.0, f64::NAN], [1.0, f64::NAN]]).has_converged(1));
    }
}
