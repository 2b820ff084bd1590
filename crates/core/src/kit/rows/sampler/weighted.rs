//! Rows by the value of a tag.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::contract::RowTags;
use crate::fault::Fault;

/// A value v of a tag with probability `w(v) / Σ w`, over the values that have rows, then one of its rows uniformly: mixing by
/// rate, as tasks are mixed for T5 (arXiv 1910.10683, section 3.5.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// The tag, which every row needs.
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// Weights by value, at least 0. Rows with another value are not drawn.
    #[schemars(length(min = 1, max = 1000))]
    pub weights: BTreeMap<String, f64>,
}

impl Weighted {
    /// The values that are drawn.
    pub(super) fn values(&self) -> Vec<String> {
        self.weights.iter().filter(|(_, weight)| **weight > 0.0).map(|(value, _)| value.clone()).collect()
    }

    pub(super) fn draw(&self, tags: &RowTags, rows: &Range<u32>, count: u32, random: &mut impl rand::Rng) -> Vec<u32> {
        let weight = |value: &String| self.weights.get(value).copied().unwrap_or(0.0);
        by_weight(tags, rows, &tags.values.iter().map(weight).collect::<Vec<_>>(), count, random)
    }

    /// Faults of one that the config has at `pointer`.
    pub(super) fn faults(&self, pointer: &str) -> Vec<Fault> {
        let wrong = self.weights.iter().find(|(_, weight)| !(weight.is_finite() && **weight >= 0.0));
        let detail = match wrong {
            Some((value, weight)) => format!("{weight} for `{value}`: a finite number of at least 0 is valid"),
            None if self.values().is_empty() => "no value has a weight: at least one above 0 is valid".to_owned(),
            None => return Vec::new(),
        };
        vec![Fault::new(format!("{pointer}/weighted/weights"), detail)]
    }
}

/// Draws values by their weights, and for each one of its rows: those drawn are found in one pass. None if no row has a weight.
pub(super) fn by_weight(
    tags: &RowTags,
    rows: &Range<u32>,
    weights: &[f64],
    count: u32,
    random: &mut impl rand::Rng,
) -> Vec<u32> {
    let sizes = tags.sizes(rows);
    let there: Vec<f64> =
        weights.iter().zip(&sizes).map(|(weight, size)| if *size > 0 { *weight } else { 0.0 }).collect();
    let all: f64 = there.iter().sum();
    let Some(last) = there.iter().rposition(|weight| *weight > 0.0) else { return Vec::new() };
    // By value, which of its rows are drawn, the first one last, each with its place in the batch.
    let mut ranks: Vec<Vec<(u32, usize)>> = vec![Vec::new(); weights.len()];
    for place in 0..count as usize {
        let mut left = random.random::<f64>() * all;
        let drawn = there.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a little.
        let value = drawn.unwrap_or(last);
        ranks[value].push((random.random_range(0..sizes[value]), place));
    }
    ranks.iter_mut().for_each(|of_value| of_value.sort_unstable_by_key(|drawn| Reverse(*drawn)));
    let mut drawn = vec![rows.start; count as usize];
    let mut seen = vec![0_u32; weights.len()];
    for (row, value) in rows.clone().zip(tags.of_rows(rows)) {
        let value = *value as usize;
        let Some(ranks) = ranks.get_mut(value) else { continue };
        while let Some((_, place)) = ranks.pop_if(|(rank, _)| *rank == seen[value]) {
            drawn[place] = row;
        }
        seen[value] += 1;
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batch, levels};
    use super::super::{Batch, Sampler, SamplerState};
    use super::*;

    #[test]
    fn values_are_drawn_by_their_weights_however_many_rows_they_have() {
        let weights = [("2", 1.0), ("10", 3.0), ("1", 0.0), ("elsewhere", 96.0)];
        let weights = weights.into_iter().map(|(value, weight)| (value.to_owned(), weight)).collect();
        let sampler = Sampler::Weighted(Weighted { tag: "level".to_owned(), weights });
        let tags = levels();
        let draw = |rows| sampler.draw(&Batch { tags: Some(&tags), ..batch(rows, 4000, 0) }, &SamplerState::default());
        let rows = draw(0..20);
        assert_eq!(rows.len(), 4000);
        assert!(rows.iter().all(|row| *row <= 10));
        // Three in four, with a standard deviation of √(4000 · 3/16) = 27.4.
        let of_ten = rows.iter().filter(|row| **row == 10).count();
        assert!((2860..3140).contains(&of_ten), "{of_ten}");
        for row in 0..10 {
            let times = rows.iter().filter(|drawn| **drawn == row).count();
            assert!((50..150).contains(&times), "row {row} {times} times");
        }
        let of_a_slice = draw(3..9);
        assert!(of_a_slice.len() == 4000 && of_a_slice.iter().all(|row| (3..9).contains(row)));
        assert!(draw(11..20).is_empty(), "none of them has a weight");
    }
}
