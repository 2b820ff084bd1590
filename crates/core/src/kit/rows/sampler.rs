//! How rows are drawn that a run learns from.

mod band;
mod staircase;
mod weighted;

pub use self::band::Band;
pub use self::staircase::{Staircase, level_order};
pub use self::weighted::Weighted;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

use super::draws::{Draws, in_epochs, uniformly};
use crate::contract::RowTags;
use crate::fault::Fault;
use crate::seed::stream;

/// How rows are drawn: `"uniform"`, `"epochs"`, or an object with the name of one of the others, such as
/// `{"band": {"target": 0.5}}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// Each independently (GASP, section 3.1), so a row may occur twice in a step.
    Uniform,
    /// In an order reshuffled for each pass, so that every row is used once before any is used twice.
    #[default]
    Epochs,
    /// By the value of a tag.
    Weighted(Weighted),
    /// From one level at a time, higher once it is solved.
    Staircase(Staircase),
    /// Those that the member is likely to solve some of the time.
    Band(Band),
}

/// The state of a sampler for one member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerState {
    /// Rows that were asked, where that does not follow from the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// The place of its level among a staircase's.
    #[serde(default, skip_serializing_if = "is_first")]
    pub level: usize,
    /// Pass rates of its last batches on that level, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<f64>,
    /// Of rows in a band, how many right and wrong answers are remembered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: BTreeMap<u32, [f64; 2]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(level: &usize) -> bool {
    *level == 0
}

/// A batch to be drawn. The same batch is the same rows each time.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The rows that may be drawn.
    pub rows: Range<u32>,
    /// How many are.
    pub count: u32,
    /// Rows drawn before it.
    pub before: u64,
    pub seed: u64,
    /// Names the member.
    pub path: &'a str,
    pub step: u32,
    /// Of the step's rounds of asking.
    pub round: u32,
    /// The values of the sampler's tag.
    pub tags: Option<&'a RowTags>,
}

impl Sampler {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Epochs => "epochs",
            Self::Weighted(_) => "weighted",
            Self::Staircase(_) => "staircase",
            Self::Band(_) => "band",
        }
    }

    /// The draws that do not depend on tags and answers.
    pub fn plain(&self) -> Option<Draws> {
        match self {
            Self::Uniform => Some(Draws::Uniform),
            Self::Epochs => Some(Draws::Epochs),
            Self::Weighted(_) | Self::Staircase(_) | Self::Band(_) => None,
        }
    }

    /// The tag by which it chooses.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Weighted(of) => Some(&of.tag),
            Self::Staircase(of) => Some(&of.tag),
            Self::Uniform | Self::Epochs | Self::Band(_) => None,
        }
    }

    /// Values of its tag that rows need to have.
    pub fn values(&self) -> Vec<String> {
        match self {
            Self::Weighted(of) => of.values(),
            Self::Staircase(of) => of.levels.clone(),
            Self::Uniform | Self::Epochs | Self::Band(_) => Vec::new(),
        }
    }

    /// The rows of a batch; none if none of those that may be drawn has a value that it asks.
    pub fn draw(&self, batch: &Batch<'_>, state: &SamplerState) -> Vec<u32> {
        let Batch { rows, count, before, seed, path, step, round, tags } = batch;
        if rows.is_empty() {
            return Vec::new();
        }
        if *self == Self::Epochs {
            return in_epochs(*before, rows.clone(), *count, *seed, path);
        }
        let path = if *round == 0 { (*path).to_owned() } else { format!("{path}/round-{round}") };
        let mut random = stream(*seed, &format!("{path}/{}", self.name()), u64::from(*step));
        match (self, tags) {
            (Self::Weighted(of), Some(tags)) => of.draw(tags, rows, *count, &mut random),
            (Self::Staircase(of), Some(tags)) => of.draw(tags, rows, *count, state, &mut random),
            (Self::Band(of), _) => of.draw(rows, *count, state, &mut random),
            _ => uniformly(rows, *count, &mut random),
        }
    }

    /// The state after a step's answers: rows, each with how many were right and how many wrong. `rows` may be drawn.
    pub fn update(
        &self,
        answers: &[(u32, [u32; 2])],
        tags: Option<&RowTags>,
        rows: &Range<u32>,
        state: &mut SamplerState,
    ) {
        match (self, tags) {
            (Self::Staircase(of), Some(tags)) => of.update(answers, tags, rows, state),
            (Self::Band(of), _) => of.update(answers, state),
            _ => {}
        }
    }

    /// Faults of a sampler that the config has at `pointer`.
    pub(crate) fn faults(&self, pointer: &str) -> Vec<Fault> {
        match self {
            Self::Weighted(of) => of.faults(pointer),
            Self::Staircase(of) => of.faults(pointer),
            Self::Uniform | Self::Epochs | Self::Band(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) fn batch(rows: Range<u32>, count: u32, step: u32) -> Batch<'static> {
        let before = u64::from(step) * u64::from(count);
        Batch { rows, count, before, seed: 1, path: "member", step, round: 0, tags: None }
    }

    /// Ten rows of level 2, then one of level 10, then nine of level 1.
    pub(super) fn levels() -> RowTags {
        let level = |row: u32| match row {
            0..10 => "2",
            10 => "10",
            _ => "1",
        };
        (0..20).map(|row| Some(level(row).to_owned())).collect()
    }

    #[test]
    fn bounds_and_weights_that_cannot_work_are_refused() {
        for (sampler, pointers) in [
            (json!({"staircase": {}}), &[][..]),
            (json!({"staircase": {"up": 0.3}}), &["/s/staircase/down"]),
            (json!({"staircase": {"levels": ["1", "2", "1"]}}), &["/s/staircase/levels/2"]),
            (json!({"weighted": {"tag": "t", "weights": {"a": -1.0}}}), &["/s/weighted/weights"]),
            (json!({"weighted": {"tag": "t", "weights": {"a": 0.0}}}), &["/s/weighted/weights"]),
        ] {
            let faults = serde_json::from_value::<Sampler>(sampler).unwrap().faults("/s");
            assert_eq!(faults.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(), pointers);
        }
    }
}
