//! Rows by their own pass rate.

use rand_distr::{Beta, Distribution as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use super::SamplerState;

/// Thompson sampling of difficulty (MoPPS, arXiv 2507.04632): of `candidates · batch` rows drawn uniformly, each with a pass rate
/// drawn from its own `Beta(1 + a, 1 + b)`, those nearest to `target`. After a step with s right and f wrong answers to a row,
/// `a ← decay · a + s` and `b ← decay · b + f`. Both numbers of every row that was asked are in the run's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The pass rate that is sought.
    #[serde(default = "defaults::target")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub target: f64,
    /// How much of what was known of a row is left when it is asked again: 1 forgets nothing.
    #[serde(default = "defaults::decay")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decay: f64,
    /// Candidates for each row that is asked.
    #[serde(default = "defaults::candidates")]
    #[schemars(range(min = 1, max = 1000))]
    pub candidates: u32,
}

mod defaults {
    pub(super) fn target() -> f64 {
        0.5
    }

    pub(super) fn decay() -> f64 {
        0.9
    }

    pub(super) fn candidates() -> u32 {
        8
    }
}

impl Band {
    pub(super) fn draw(
        &self,
        rows: &Range<u32>,
        count: u32,
        state: &SamplerState,
        random: &mut impl rand::Rng,
    ) -> Vec<u32> {
        let asked = (count as usize).saturating_mul(self.candidates as usize).min(rows.len());
        let candidates = rand::seq::index::sample(random, rows.len(), asked);
        let mut distances: Vec<(f64, u32)> = candidates
            .into_iter()
            .map(|place| {
                let row = rows.start + place as u32;
                let [right, wrong] = state.rows.get(&row).copied().unwrap_or_default();
                let rate = Beta::new(1.0 + right, 1.0 + wrong).map_or(0.5, |beta| beta.sample(random));
                ((rate - self.target).abs(), row)
            })
            .collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // A batch that is larger than the slice has rows twice.
        distances.iter().cycle().take(count as usize).map(|(_, row)| *row).collect()
    }

    /// Counts a member's answers, of which some were right and some wrong.
    pub(super) fn update(&self, answers: &[(u32, [u32; 2])], state: &mut SamplerState) {
        for (row, counts) in answers {
            for (remembered, new) in state.rows.entry(*row).or_default().iter_mut().zip(counts) {
                *remembered = self.decay * *remembered + f64::from(*new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sampler;
    use super::super::tests::batch;
    use super::*;

    #[test]
    fn it_asks_rows_that_are_solved_some_of_the_time() {
        let band = Band { target: 0.5, decay: 0.5, candidates: 10 };
        let mut state = SamplerState::default();
        band.update(&[(3, [2, 1])], &mut state);
        band.update(&[(3, [0, 4])], &mut state);
        assert_eq!(state.rows[&3], [1.0, 4.5], "2 / 2 + 0 right, and 1 / 2 + 4 wrong");
        // Of twenty rows all but 7 and 8 are known to be solved always, or never; the deviation of Beta(1001, 1001) is 0.011.
        state.rows = (0..20).map(|row| (row, if row % 2 == 0 { [1000.0, 0.0] } else { [0.0, 1000.0] })).collect();
        state.rows.extend([(7, [1000.0, 1000.0]), (8, [1000.0, 1000.0])]);
        let sampler = Sampler::Band(band);
        for step in 0..20 {
            let mut rows = sampler.draw(&batch(0..20, 2, step), &state);
            rows.sort_unstable();
            assert_eq!(rows, [7, 8]);
        }
        let unknown = |step| sampler.draw(&batch(0..1000, 4, step), &SamplerState::default());
        assert_ne!(unknown(0), unknown(1));
        assert_eq!(unknown(0), unknown(0));
    }
}
