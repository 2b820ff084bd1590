//! Texts grouped by how much they repeat one another.

use kodama::{Method, linkage};
use std::collections::HashMap;

use super::Wordlists;

/// R-Zero's clusters of repeated questions (arXiv 2508.05004): agglomerative clustering with average linkage of the
/// distances 1 − BLEU; clusters merge while their distance is below `distance`. BLEU is not symmetric: the earlier text is
/// the candidate, as in R-Zero's code. Clusters are numbered from 0 in the order of their first texts.
pub fn bleu_clusters(texts: &[impl AsRef<str>], distance: f64) -> Vec<u32> {
    let count = texts.len();
    let mut top: Vec<usize> = (0..2 * count).collect();
    if count > 1 {
        let lists = Wordlists::new(texts);
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let mut distances: Vec<f32> = pairs
            .map(|(one, other)| (1.0 - lists.bleu(one, other)) as f32)
            .collect();
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
