//! BLEU-4 among texts, as NLTK's `sentence_bleu` with `SmoothingFunction().method1` (Chen and Cherry 2014). Words are
//! separated by white space.

use std::collections::HashMap;

/// The longest n-grams.
const ORDERS: usize = 4;
/// The numerator of a precision without a match (method 1).
const EPSILON: f64 = 0.1;

/// Texts as lists of words and counts of their n-grams.
#[derive(Clone, Debug)]
pub struct Wordlists(Vec<Grams>);

/// The n-grams of a text.
#[derive(Clone, Debug)]
struct Grams {
    words: usize,
    /// For each order, the distinct n-grams by ascending number, with their counts.
    counts: [Vec<(u32, u32)>; ORDERS],
}

impl Wordlists {
    /// Counts the n-grams of `texts`.
    pub fn new(texts: &[impl AsRef<str>]) -> Self {
        let mut words: HashMap<&str, u32> = HashMap::new();
        // An n-gram is the number of its first n − 1 words and its last word.
        let mut grams: HashMap<(usize, u32, u32), u32> = HashMap::new();
        let of = |text| {
            let text: &str = text;
            let mut ids = Vec::new();
            for word in text.split_whitespace() {
                let next = words.len() as u32;
                ids.push(*words.entry(word).or_insert(next));
            }
            let mut starts = ids.clone();
            let counts = std::array::from_fn(|order| {
                if order > 0 {
                    let longer = starts.iter().zip(ids.iter().skip(order)).map(|(start, word)| {
                        let next = grams.len() as u32;
                        *grams.entry((order, *start, *word)).or_insert(next)
                    });
                    starts = longer.collect();
                }
                counted(starts.clone())
            });
            Grams { words: ids.len(), counts }
        };
        Self(texts.iter().map(AsRef::as_ref).map(of).collect())
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn words(&self, text: usize) -> usize {
        self.0[text].words
    }

    /// BLEU of the text at `candidate` against the one at `reference`.
    pub fn bleu(&self, candidate: usize, reference: usize) -> f64 {
        let (candidate, reference) = (&self.0[candidate], &self.0[reference]);
        let matches = std::array::from_fn(|order| shared(&candidate.counts[order], &reference.counts[order]));
        bleu(matches, candidate.words, reference.words)
    }

    /// Self-BLEU (Zhu et al. 2018, Texygen): the mean BLEU of each text against all others. `None` for fewer than two
    /// texts.
    pub fn self_bleu(&self) -> Option<f64> {
        if self.len() < 2 {
            return None;
        }
        let highest: [HashMap<u32, Highest>; ORDERS] = std::array::from_fn(|order| self.highest(order));
        let scores = self.0.iter().enumerate().map(|(place, own)| {
            let matches = std::array::from_fn(|order| {
                let clipped = own.counts[order].iter().map(|(gram, count)| {
                    let elsewhere = highest[order].get(gram).map_or(0, |highest| highest.without(place));
                    (*count).min(elsewhere) as usize
                });
                clipped.sum()
            });
            bleu(matches, own.words, self.closest_length(place))
        });
        Some(scores.sum::<f64>() / self.len() as f64)
    }

    /// The highest counts of each n-gram of an order.
    fn highest(&self, order: usize) -> HashMap<u32, Highest> {
        let mut highest: HashMap<u32, Highest> = HashMap::new();
        for (place, grams) in self.0.iter().enumerate() {
            for (gram, count) in &grams.counts[order] {
                highest.entry(*gram).or_default().enter(place, *count);
            }
        }
        highest
    }

    /// The length that is closest to that of the text at `place`, the shorter of two, among all others.
    fn closest_length(&self, place: usize) -> usize {
        let own = self.0[place].words;
        let others = self.0.iter().enumerate().filter(|(other, _)| *other != place);
        let lengths = others.map(|(_, grams)| grams.words);
        lengths.min_by_key(|words| (words.abs_diff(own), *words)).unwrap_or(0)
    }
}

/// The two highest counts of an n-gram in different texts.
#[derive(Clone, Copy, Default)]
struct Highest {
    place: usize,
    count: u32,
    second: u32,
}

impl Highest {
    fn enter(&mut self, place: usize, count: u32) {
        if count > self.count {
            (self.place, self.second, self.count) = (place, self.count, count);
        } else {
            self.second = self.second.max(count);
        }
    }

    /// The highest count in another text than the one at `place`.
    fn without(self, place: usize) -> u32 {
        if self.place == place { self.second } else { self.count }
    }
}

/// Distinct numbers by ascending size, with their counts.
fn counted(mut grams: Vec<u32>) -> Vec<(u32, u32)> {
    grams.sort_unstable();
    let runs = grams.chunk_by(|one, other| one == other);
    runs.map(|run| (run[0], run.len() as u32)).collect()
}

/// The n-grams that both have, each as often as in the text that has fewer.
fn shared(one: &[(u32, u32)], other: &[(u32, u32)]) -> usize {
    let (mut at, mut beside, mut sum) = (0, 0, 0);
    while let (Some((gram, count)), Some((same, times))) = (one.get(at), other.get(beside)) {
        match gram.cmp(same) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => beside += 1,
            std::cmp::Ordering::Equal => {
                sum += (*count).min(*times) as usize;
                at += 1;
                beside += 1;
            }
        }
    }
    sum
}

/// BLEU of a candidate and the closest reference, with these numbers of words.
fn bleu(matches: [usize; ORDERS], candidate: usize, reference: usize) -> f64 {
    if matches[0] == 0 {
        return 0.0;
    }
    let precisions = matches.iter().enumerate().map(|(order, matches)| {
        let total = candidate.saturating_sub(order).max(1);
        let matches = if *matches == 0 { EPSILON } else { *matches as f64 };
        (matches / total as f64).ln() / ORDERS as f64
    });
    let mean = precisions.sum::<f64>().exp();
    if candidate > reference {
        return mean;
    }
    mean * (1.0 - reference as f64 / candidate as f64).exp()
}
