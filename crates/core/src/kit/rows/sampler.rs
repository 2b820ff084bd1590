//! Chooses the rows of a step.

use rand::{Rng as _, seq::SliceRandom as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::seed::stream;

/// How rows are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// Each independently (GASP, section 3.1), so a row may occur twice in a step.
    Uniform,
    /// In an order reshuffled for each pass, so that every row is used once before any is used twice.
    #[default]
    Epochs,
}

impl Sampler {
    /// The rows of a step's batch, out of `rows`. `path` names the batch. The same arguments give the same rows, so no
    /// state of the draws needs to be kept.
    pub fn draw(self, rows: Range<u32>, batch: u32, seed: u64, path: &str, step: u32) -> Vec<u32> {
        if rows.is_empty() {
            return Vec::new();
        }
        match self {
            Self::Uniform => {
                let mut random = stream(seed, &format!("{path}/uniform"), u64::from(step));
                (0..batch).map(|_| random.random_range(rows.clone())).collect()
            }
            Self::Epochs => {
                let count = rows.len() as u64;
                let first = u64::from(step) * u64::from(batch);
                let places = first..first + u64::from(batch);
                let mut drawn = Vec::with_capacity(batch as usize);
                for epoch in places.start / count..=(places.end - 1) / count {
                    let mut order: Vec<u32> = rows.clone().collect();
                    order.shuffle(&mut stream(seed, &format!("{path}/epoch"), epoch));
                    let start = places.start.saturating_sub(epoch * count).min(count);
                    let end = places.end.saturating_sub(epoch * count).min(count);
                    drawn.extend_from_slice(&order[start as usize..end as usize]);
                }
                drawn
            }
        }
    }
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
                .flat_map(|step| Sampler::Epochs.draw(5..5 + count, batch, 1, "member", step))
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
            let drawn = Sampler::Uniform.draw(3..3 + count, batch, 1, "member", 7);
            prop_assert_eq!(drawn.len() as u32, batch);
            prop_assert!(drawn.iter().all(|row| (3..3 + count).contains(row)));
        }
    }

    #[test]
    fn each_pass_has_an_order_of_its_own() {
        let pass = |step| Sampler::Epochs.draw(0..32, 32, 1, "member", step);
        assert_ne!(pass(0), pass(1));
        assert_ne!(
            pass(0),
            Sampler::Epochs.draw(0..32, 32, 2, "member", 0),
            "the seed counts"
        );
        assert_ne!(
            pass(0),
            Sampler::Epochs.draw(0..32, 32, 1, "other", 0),
            "members differ"
        );
        assert_eq!(pass(1), pass(1));
    }
}
