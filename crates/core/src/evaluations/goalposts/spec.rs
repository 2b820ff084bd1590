//! Evaluations of type `goalposts`.

use serde::{Deserialize, Serialize};

use crate::benchmark::MAX_SAMPLES;
use crate::dataset::TestPolicy;
use crate::id::ExecutionId;
use crate::work::{BaseModel, Compute, MAX_TEMPERATURE};

/// Lets the checkpoints of runs attempt hard problems many times: which problem does which checkpoint solve, and how
/// often? With a control, the untrained base gets as many fresh attempts, so that luck can be told from learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalpostsSpec {
    /// The problems: a dataset of purpose `goalposts` or `training`, by name or id; left out, the goalposts of the first
    /// run, which must be of recipe `gasp`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub dataset: Option<String>,
    /// Use only this many rows, from the first.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub rows: Option<u32>,
    /// Use rows whose tests have not been checked, or are bad.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_unchecked: bool,
    /// Leave out rows with bad tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_out_bad_rows: bool,
    /// The runs whose checkpoints attempt them.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub runs: Vec<RunCheckpoints>,
    /// Also a model without an adapter: a base, or a merged model in the models folder.
    #[serde(default)]
    pub base_model: Option<BaseModel>,
    /// Also the base models of the runs, once each.
    #[serde(default = "yes")]
    pub base: bool,
    /// For every checkpoint, also as many fresh attempts of its untrained base.
    #[serde(default = "yes")]
    pub control: bool,
    /// Attempts of each checkpoint at each problem.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// Prompt style; by default `seedling` for problems of self-play and `azr` for others.
    #[serde(default)]
    pub prompts: Option<String>,
    /// Softmax temperature.
    #[serde(default = "temperature")]
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: f64,
    /// Nucleus sampling probability (top_p).
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: f64,
    /// Maximum tokens per attempt; by default the limit of the suite whose rows are like these.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// How the engine computes; by default as in the first run.
    #[serde(default)]
    pub compute: Option<Compute>,
}

impl GoalpostsSpec {
    /// What it allows of the tests of its rows.
    pub fn tests(&self) -> TestPolicy {
        TestPolicy { allow_unchecked: self.allow_unchecked, leave_out_bad_rows: self.leave_out_bad_rows }
    }
}

/// Checkpoints of a run: all its members that solve problems, after each of some steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCheckpoints {
    /// The run.
    pub run: ExecutionId,
    /// After these numbers of steps.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub steps: Vec<u32>,
    /// Also after every N steps, and after the last finished one. Without `steps` and `every`, after the last one only.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub every: Option<u32>,
}

impl RunCheckpoints {
    /// The steps after which it is measured, of a run that has finished `done` steps; in order, each once.
    pub fn moments(&self, done: u32) -> Vec<u32> {
        let mut moments = self.steps.clone();
        if let Some(every) = self.every {
            moments.extend((1..=done).filter(|step| step.is_multiple_of(every.max(1))));
        }
        if self.every.is_some() || self.steps.is_empty() {
            moments.push(done);
        }
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}

fn yes() -> bool {
    true
}

fn hundred() -> u32 {
    100
}

fn temperature() -> f64 {
    0.6
}

fn one() -> f64 {
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_order_and_end_with_the_last_step() {
        let moments = |steps: &[u32], every, done| {
            let run = ExecutionId(uuid::Uuid::from_u128(1));
            let steps = steps.to_vec();
            RunCheckpoints { run, steps, every }.moments(done)
        };
        assert_eq!(moments(&[], None, 7), [7]);
        assert_eq!(moments(&[], Some(3), 7), [3, 6, 7]);
        assert_eq!(moments(&[], Some(3), 6), [3, 6]);
        assert_eq!(moments(&[5, 0, 5], None, 7), [0, 5], "only those that are named");
        assert_eq!(moments(&[0, 1], Some(4), 5), [0, 1, 4, 5]);
    }
}
