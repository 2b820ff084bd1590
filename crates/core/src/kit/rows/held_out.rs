//! Measures members on rows that are never learned from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

use super::{Answer, Asking, RewardConfig, Rows};
use crate::contract::phase::{GRADE_MEASURE, MEASURE};
use crate::contract::{HeldOutRecord, RunState};
use crate::id::DatasetId;
use crate::kit::Progress;
use crate::work::{MAX_TEMPERATURE, Sampling};

/// The most answers to a held-out row, and the largest k of its pass@k.
pub(crate) const MAX_HELD_OUT: u32 = 128;

/// Rows that members are measured on and never learn from: the last of those used. Answers to them are not recorded as
/// attempts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// How many rows, from the last of those used.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rows: u32,
    /// Steps between measurements. The first and the last step are always measured, each with the weights that it starts
    /// with.
    #[serde(default = "defaults::every")]
    #[schemars(range(min = 1))]
    pub every: u32,
    /// Answers to each row by each member; pass@k is estimated for k = 1, 2, 4, … up to this.
    #[serde(default = "defaults::n")]
    #[schemars(range(min = 1, max = MAX_HELD_OUT))]
    pub n: u32,
    /// Their temperature, 0 for the most likely answer; by default that of training. Nothing else about sampling
    /// differs.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: Option<f64>,
}

mod defaults {
    pub(crate) fn every() -> u32 {
        10
    }

    pub(crate) fn n() -> u32 {
        1
    }
}

/// How often a member solved the held-out rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// A position among the members.
    pub member: usize,
    /// Its answers to each row.
    pub n: u32,
    /// How many of them are correct, by row.
    pub correct: Vec<u32>,
}

impl HeldOut {
    /// The places of the rows among all `rows` that are used.
    pub fn places(self, rows: u32) -> Range<u32> {
        rows.saturating_sub(self.rows)..rows
    }

    /// Whether `run`'s step is one of those that are measured.
    pub fn is_due(self, run: &RunState) -> bool {
        run.step.is_multiple_of(self.every) || run.step + 1 == run.config.steps
    }

    /// How these rows are answered by members that train with `sampling`.
    pub fn sampling(self, sampling: &Sampling) -> Sampling {
        Sampling { temperature: self.temperature.unwrap_or(sampling.temperature), ..sampling.clone() }
    }
}

impl Rows<'_> {
    /// Every member's counts on the held-out ones of the first `rows` rows of `dataset`; none in a step that is not
    /// measured. An item of work has at most `size` rows.
    pub fn measure(
        &mut self,
        held_out: HeldOut,
        (dataset, rows): (DatasetId, u32),
        sampling: &Sampling,
        size: u32,
    ) -> Progress<Arc<Vec<Measured>>> {
        let view = self.draft.view;
        if !held_out.is_due(self.draft.run) {
            return Ok(Arc::default());
        }
        let members = 0..self.draft.members.len();
        let questions = view.once("held-out questions", || {
            let places = members.clone().flat_map(|member| held_out.places(rows).map(move |place| (member, place)));
            self.read(dataset, &places.collect::<Vec<_>>())
        })?;
        view.once("measured", || {
            let asking = Asking {
                phases: [MEASURE, GRADE_MEASURE],
                n: held_out.n,
                sampling: &held_out.sampling(sampling),
                reward: &RewardConfig::default(),
                draws: None,
                round: 0,
                is_learned: false,
            };
            let answers = self.answers(asking, &questions, size)?;
            let measured = members.clone().map(|member| Measured {
                member,
                n: held_out.n,
                correct: counts(&answers, member, held_out.places(rows)),
            });
            let measured: Vec<Measured> = measured.collect();
            let run = self.draft.run.run;
            let record = |of: &Measured| HeldOutRecord {
                solver: self.draft.members[of.member].playing(run),
                first_row: held_out.places(rows).start,
                n: of.n,
                correct: of.correct.clone(),
            };
            self.draft.plan.records.held_out = measured.iter().map(record).collect();
            Ok(measured)
        })
    }
}

/// Correct answers of a member to each of the rows at `places`.
fn counts(answers: &[Answer], member: usize, places: Range<u32>) -> Vec<u32> {
    let mut counts = vec![0; places.len()];
    for answer in answers.iter().filter(|answer| answer.member == member && answer.correct) {
        if let Some(count) = counts.get_mut((answer.place - places.start) as usize) {
            *count += 1;
        }
    }
    counts
}
