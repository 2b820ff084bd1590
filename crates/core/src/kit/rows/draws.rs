//! Draws of problems of which nothing is known.

use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::seed::stream;

/// How problems are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// Each independently (GASP, section 3.1), so a problem may occur twice in a step.
    Uniform,
    /// In an order reshuffled for each pass, so that every problem is used once before any is used twice.
    #[default]
    Epochs,
}

impl Draws {
    /// The problems of a step's batch, out of `range`. `path` names the batch. The same arguments give the same problems, so no
    /// state of the draws needs to be kept.
    pub fn draw(self, range: Range<u32>, batch: u32, seed: u64, path: &str, step: u32) -> Vec<u32> {
        match self {
            Self::Uniform => {
                let mut random = stream(seed, &format!("{path}/uniform"), u64::from(step));
                uniformly(&range, batch, &mut random)
            }
            Self::Epochs => in_epochs(u64::from(step) * u64::from(batch), range, batch, seed, path),
        }
    }
}

pub(super) fn uniformly(range: &Range<u32>, count: u32, random: &mut impl rand::Rng) -> Vec<u32> {
    (0..if range.is_empty() { 0 } else { count }).map(|_| random.random_range(range.clone())).collect()
}

/// `count` problems after the first `before` of passes over `range`, each in an order of its own.
pub fn in_epochs(before: u64, range: Range<u32>, count: u32, seed: u64, path: &str) -> Vec<u32> {
    let size = range.len() as u64;
    if size == 0 || count == 0 {
        return Vec::new();
    }
    let places = before..before + u64::from(count);
    let mut drawn = Vec::with_capacity(count as usize);
    for epoch in places.start / size..=(places.end - 1) / size {
        let mut order: Vec<u32> = range.clone().collect();
        order.shuffle(&mut stream(seed, &format!("{path}/epoch"), epoch));
        let start = places.start.saturating_sub(epoch * size).min(size);
        let end = places.end.saturating_sub(epoch * size).min(size);
        drawn.extend_from_slice(&order[start as usize..end as usize]);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    use super::*;

    proptest! {
        #[test]
        fn every_row_comes_once_before_any_comes_twice(count in 1_u32..40, batch in 1_u32..50, steps in 1_u32..12) {
            let drawn: Vec<u32> = (0..steps)
                .flat_map(|step| Draws::Epochs.draw(5..5 + count, batch, 1, "member", step))
                .collect();
            prop_assert_eq!(drawn.len() as u32, batch * steps);
            let mut times: BTreeMap<u32, u32> = (5..5 + count).map(|row| (row, 0)).collect();
            for (place, row) in drawn.iter().enumerate() {
                let passes = times.get_mut(row);
                prop_assert!(passes.is_some(), "row {} is not in the slice", row);
                if let Some(passes) = passes {
                    prop_assert_eq!(*passes, place as u32 / count);
                    *passes += 1;
                }
            }
        }

        #[test]
        fn uniform_draws_stay_in_the_slice(count in 1_u32..40, batch in 1_u32..50) {
            let drawn = Draws::Uniform.draw(3..3 + count, batch, 1, "member", 7);
            prop_assert_eq!(drawn.len() as u32, batch);
            prop_assert!(drawn.iter().all(|row| (3..3 + count).contains(row)));
        }
    }

    #[test]
    fn each_pass_has_an_order_of_its_own() {
        let pass = |step| Draws::Epochs.draw(0..32, 32, 1, "member", step);
        assert_ne!(pass(0), pass(1));
        assert_ne!(pass(0), Draws::Epochs.draw(0..32, 32, 2, "member", 0), "the seed counts");
        assert_ne!(pass(0), Draws::Epochs.draw(0..32, 32, 1, "other", 0), "members differ");
        assert_eq!(pass(1), pass(1));
    }
}
