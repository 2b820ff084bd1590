//! Rows of one level at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

use super::SamplerState;
use super::weighted::by_weight;
use crate::contract::RowTags;
use crate::fault::Fault;

/// Rows of one level, uniformly. After a step whose pass rate over the last `batches` batches is above `up`, the next level is
/// asked, and below `down` the previous one; the window then begins anew. An up-down staircase of psychophysics (Levitt 1971),
/// with two bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Staircase {
    /// The tag whose values are the levels; every row needs it.
    #[serde(default = "defaults::tag")]
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// The levels, the easiest first; left out, all values of the rows that a member learns from: numbers in their order, then
    /// others alphabetically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub levels: Vec<String>,
    /// The pass rate above which the next level is asked.
    #[serde(default = "defaults::up")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub up: f64,
    /// The pass rate below which the previous level is asked.
    #[serde(default = "defaults::down")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub down: f64,
    /// Batches over which the pass rate is taken.
    #[serde(default = "defaults::batches")]
    #[schemars(range(min = 1, max = 1000))]
    pub batches: u32,
}

mod defaults {
    pub(super) fn tag() -> String {
        "level".to_owned()
    }

    pub(super) fn up() -> f64 {
        0.8
    }

    pub(super) fn down() -> f64 {
        0.3
    }

    pub(super) fn batches() -> u32 {
        4
    }
}

/// The order of levels: numbers by value, then others alphabetically.
pub fn level_order(a: &str, b: &str) -> Ordering {
    let number = |level: &str| level.parse::<f64>().unwrap_or(f64::INFINITY);
    number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
}

impl Staircase {
    /// The places among the tag's values of the levels that some of `rows` have, the easiest first.
    fn levels(&self, tags: &RowTags, rows: &Range<u32>) -> Vec<usize> {
        let sizes = tags.sizes(rows);
        let mut places: Vec<usize> = match self.levels.is_empty() {
            true => (0..tags.values.len()).collect(),
            false => {
                self.levels.iter().filter_map(|level| tags.values.iter().position(|value| value == level)).collect()
            }
        };
        places.retain(|place| sizes[*place] > 0);
        if self.levels.is_empty() {
            places.sort_by(|a, b| level_order(&tags.values[*a], &tags.values[*b]));
        }
        places
    }

    pub(super) fn draw(
        &self,
        tags: &RowTags,
        rows: &Range<u32>,
        count: u32,
        state: &SamplerState,
        random: &mut impl rand::Rng,
    ) -> Vec<u32> {
        let levels = self.levels(tags, rows);
        let mut weights = vec![0.0; tags.values.len()];
        if let Some(level) = levels.get(state.level).or(levels.last()) {
            weights[*level] = 1.0;
        }
        by_weight(tags, rows, &weights, count, random)
    }

    /// Moves by the pass rate of a member's answers to a batch of `rows`.
    pub(super) fn update(
        &self,
        answers: &[(u32, [u32; 2])],
        tags: &RowTags,
        rows: &Range<u32>,
        state: &mut SamplerState,
    ) {
        let [right, wrong] = answers.iter().fold([0, 0], |[right, wrong], (_, [r, w])| [right + r, wrong + w]);
        if right + wrong == 0 {
            return;
        }
        let window = self.batches as usize;
        state.recent.push(f64::from(right) / f64::from(right + wrong));
        state.recent.drain(..state.recent.len().saturating_sub(window));
        if state.recent.len() < window {
            return;
        }
        let rate = state.recent.iter().sum::<f64>() / window as f64;
        let last = self.levels(tags, rows).len().saturating_sub(1);
        let level = match state.level.min(last) {
            level if rate > self.up => (level + 1).min(last),
            level if rate < self.down => level.saturating_sub(1),
            level => level,
        };
        if level != state.level {
            state.level = level;
            state.recent.clear();
        }
    }

    /// Faults of one that the config has at `pointer`.
    pub(super) fn faults(&self, pointer: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.down >= self.up {
            let detail = format!("{} is not below `up`, which is {}: a smaller one is valid", self.down, self.up);
            faults.push(Fault::new(format!("{pointer}/staircase/down"), detail));
        }
        let twice = (1..self.levels.len()).find(|at| self.levels[..*at].contains(&self.levels[*at]));
        if let Some(at) = twice {
            let detail = format!("`{}` is a level already: each is valid once", self.levels[at]);
            faults.push(Fault::new(format!("{pointer}/staircase/levels/{at}"), detail));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batch, levels};
    use super::super::{Batch, Sampler};
    use super::*;

    fn sampler(levels: &[&str]) -> Sampler {
        let levels = levels.iter().map(|level| (*level).to_owned()).collect();
        Sampler::Staircase(Staircase { tag: "level".to_owned(), levels, up: 0.8, down: 0.3, batches: 2 })
    }

    /// The level that all of 50 rows have.
    fn asked(sampler: &Sampler, rows: Range<u32>, state: &SamplerState) -> String {
        let tags = levels();
        let rows = sampler.draw(&Batch { tags: Some(&tags), ..batch(rows, 50, 3) }, state);
        let mut levels: Vec<&String> =
            rows.iter().map(|row| &tags.values[tags.of_row[*row as usize] as usize]).collect();
        assert_eq!(levels.len(), 50);
        levels.dedup();
        assert_eq!(levels.len(), 1);
        levels[0].clone()
    }

    #[test]
    fn it_goes_up_and_down_by_the_mean_of_its_window() {
        let (sampler, tags, mut state) = (sampler(&[]), levels(), SamplerState::default());
        // Pass rates in per cent, and the level that is asked next: 1, 2 and 10 in the order of numbers.
        for (right, level) in [
            (90, "1"),
            (90, "2"),
            (85, "2"),
            (70, "2"),  // (85 + 70) / 2 is not above 80
            (91, "10"), // (70 + 91) / 2 is
            (100, "10"),
            (100, "10"),
            (0, "10"),
            (40, "2"), // (0 + 40) / 2 is below 30
            (30, "2"),
            (30, "2"),
            (29, "1"),
            (0, "1"),
            (0, "1"),
        ] {
            sampler.update(&[(0, [right, 100 - right])], Some(&tags), &(0..20), &mut state);
            assert_eq!(asked(&sampler, 0..20, &state), level, "{right}");
        }
    }

    #[test]
    fn levels_are_those_of_the_rows_that_a_member_learns_from() {
        let tags = levels();
        for (sampler, rows, wanted) in [
            (sampler(&[]), 0..10, &["2", "2"][..]),
            (sampler(&[]), 8..11, &["2", "10"]),
            (sampler(&["10", "1", "2"]), 0..11, &["10", "2"]),
        ] {
            let mut state = SamplerState::default();
            for level in wanted {
                assert_eq!(asked(&sampler, rows.clone(), &state), *level);
                for _ in 0..2 {
                    sampler.update(&[(0, [1, 0])], Some(&tags), &rows, &mut state);
                }
            }
            assert_eq!(asked(&sampler, rows.clone(), &state), wanted[wanted.len() - 1], "there is nothing above it");
        }
    }

    #[test]
    fn numbers_come_first_by_their_value() {
        let mut levels = ["b", "10", "9.5", "a", "-1"];
        levels.sort_by(|a, b| level_order(a, b));
        assert_eq!(levels, ["-1", "9.5", "10", "a", "b"]);
    }
}
