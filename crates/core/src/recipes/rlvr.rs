//! Reinforcement learning with verifiable rewards on a fixed dataset (GASP, arXiv 2603.15957, section 3.1 and appendix D).
//!
//! A step: draw rows → answer each n times → grade → group-relative advantages → update. Members of the population learn
//! side by side, each from its own draws. Every N steps they are measured on held-out rows.

pub(super) mod step;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use self::step::{Memory, Step};
use crate::advantage::AdvantageConfig;
use crate::artifact::Digest;
use crate::benchmark::{OwnOracle, PromptStyle};
use crate::config::{Ancestor, RunConfig, pointer_token};
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{self, Capabilities, Metric, Plan, PlanError, Role, RowsAsked, RunState, StepView};
use crate::dataset::{DatasetUse, TagUse};
use crate::fault::{Fault, Faults};
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES};
use crate::kit::rows::{
    Asking, DynamicSampling, GroupFilter, HeldOut, Recorded, RewardConfig, Sampler, TrainingSet, all_metrics, metrics,
};
use crate::kit::{
    ItemConfig, LearningConfig, Names, founders, population_faults, resolved, sampling_faults, single_population_fault,
};
use crate::prompt::Templates;
use crate::work::{Compute, Sampling};

#[derive(Clone, Copy, Debug)]
pub struct Rlvr;

impl contract::TypedPlanner for Rlvr {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "rlvr";
    const SUMMARY: &'static str = "Members learn from a fixed dataset with verifiable rewards (RLVR).";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        let members = founders(config, &mut Names::default());
        Memory { members, ..Memory::default() }
    }

    fn held(&self, parameters: &Parameters) -> Result<Vec<Digest>, PlanError> {
        Ok(parameters.reward.held())
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &Parameters,
        memory: Memory,
    ) -> Result<Plan, PlanError> {
        let mut step = Step::new(run, view, parameters, memory)?;
        let outcome = step.play();
        step.rows.draft.close(outcome)
    }
}

impl contract::TypedRecipe for Rlvr {
    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        parameters.usage("/parameters").into_iter().collect()
    }

    fn rows_asked(&self, parameters: &Parameters) -> Result<Option<RowsAsked>, PlanError> {
        parameters.asked("/parameters").map(Some)
    }

    fn compares_answers(&self, parameters: &Parameters) -> bool {
        parameters.advantages.estimator.compares_samples()
    }

    fn judge(&self, parameters: &Parameters) -> Option<(&'static str, Ancestor)> {
        let judge = parameters.reward.judge.as_ref()?;
        Some(("/parameters/reward/judge/from", judge.from.clone()?))
    }

    fn templates(&self) -> Templates {
        // Its prompts are those of benchmarks.
        Templates { all: Vec::new(), reads: |_, _, _| Ok(()) }
    }

    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        let style = PromptStyle::shipped(&parameters.prompts).ok()?;
        style.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        vec![("/parameters/learning/optimizer/learning_rate", parameters.learning.sum_of_rates(config.steps))]
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        all_metrics()
    }

    fn recorded_metrics(&self, parameters: &Parameters) -> Vec<Metric> {
        metrics(parameters.recorded())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { repeats: true, ..Capabilities::default() }
    }
}

/// What a config says of a run of RLVR. The defaults are GASP's (appendix D), except that rows are drawn in epochs and that the
/// learning rate is PopuLoRA's for adapters, 5e-5. The 7B presets draw uniformly and learn at 1e-6, as GASP does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// What is learned from: a dataset imported for training.
    pub dataset: TrainingSet,
    /// How rows are put to the model and answers read: a prompt style of the benchmarks, such as `azr`, `chat` or `seedling`.
    #[serde(default = "defaults::prompts")]
    pub prompts: String,
    /// How rows are drawn.
    #[serde(default)]
    pub sampler: Sampler,
    /// Whether each member learns from a slice of its own, an equal part of the rows, rather than from all of them.
    #[serde(default)]
    pub slices: bool,
    /// Rows that each member answers in a step.
    #[serde(default = "defaults::batch")]
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub batch: u32,
    /// Groups of answers that are not learned from; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<GroupFilter>,
    /// Asks rows in rounds until a batch of groups has answers that earned differently; left out, one round is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<DynamicSampling>,
    /// Answers to each row.
    #[serde(default = "defaults::n")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// How answers are drawn. Texts that end one, besides those given, come from the prompts.
    #[serde(default)]
    pub sampling: Sampling,
    /// What scores answers to all rows, held-out ones included, in place of what rows name themselves: a reward of your own. Without
    /// it, each row's own oracle does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OwnOracle>,
    /// What answers earn.
    #[serde(default)]
    pub reward: RewardConfig,
    /// Rows that members are measured on and never learn from; none by default.
    #[serde(default)]
    pub held_out: Option<HeldOut>,
    /// How rewards become advantages.
    #[serde(default)]
    pub advantages: AdvantageConfig,
    /// How members learn.
    #[serde(default)]
    pub learning: LearningConfig,
    /// How a step is cut into items of work.
    #[serde(default)]
    pub items: ItemConfig,
}

mod defaults {
    pub(super) fn prompts() -> String {
        "chat".to_owned()
    }

    pub(super) fn batch() -> u32 {
        64
    }

    pub(super) fn n() -> u32 {
        8
    }
}

impl Parameters {
    /// The number of rows that are learned from, the first of those used; `None` before the dataset is looked up.
    fn learned_rows(&self) -> Option<u32> {
        self.dataset.rows.map(|rows| self.learned_of(rows))
    }

    /// How many of `rows` rows are learned from.
    fn learned_of(&self, rows: u32) -> u32 {
        rows.saturating_sub(self.held_out.map_or(0, |held_out| held_out.rows))
    }

    /// The rows that the member at `place` of `members` learns from: all that are learned from, or its slice.
    ///
    /// # Errors
    /// The dataset has not been looked up.
    pub fn task(&self, place: usize, members: usize) -> Result<Range<u32>, PlanError> {
        let learned = self.learned_of(self.dataset.settled()?.1);
        let cut = |place: usize| (u64::from(learned) * place as u64 / members.max(1) as u64) as u32;
        Ok(if self.slices { cut(place)..cut(place + 1) } else { 0..learned })
    }

    /// The dataset, and the reward that scores answers, of these parameters, whose pointer is `at`.
    pub(crate) fn usage(&self, at: &str) -> Option<DatasetUse> {
        let reward = self.oracle.as_ref().map(|oracle| (format!("{at}/oracle/file"), oracle.file));
        let usage = self.dataset.usage(&format!("{at}/dataset"))?;
        let tag = self.sampler.tag().map(|tag| TagUse {
            pointer: format!("{at}/sampler"),
            tag: tag.to_owned(),
            values: self.sampler.values(),
            // A staircase draws a whole batch from one level.
            rows: if matches!(self.sampler, Sampler::Staircase(_)) { self.batch } else { 1 },
            held_out: self.held_out.map_or(0, |held_out| held_out.rows),
        });
        Some(DatasetUse { reward, tag, ..usage })
    }

    /// The rows that members answer; `pointer` is that of these parameters.
    pub(crate) fn asked(&self, pointer: &'static str) -> Result<RowsAsked, PlanError> {
        let (dataset, rows) = self.dataset.settled()?;
        Ok(RowsAsked {
            pointer,
            dataset,
            rows,
            tag: self.sampler.tag().map(str::to_owned),
            learned: self.learned_of(rows),
            prompts: self.prompts.clone(),
            max_tokens: self.sampling.max_tokens,
        })
    }

    /// The metrics that it records and others do not.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            held_out: self.held_out,
            selects_groups: self.selects_groups(),
            has_levels: matches!(self.sampler, Sampler::Staircase(_)),
        }
    }

    /// Whether some groups of answers are not learned from.
    pub(crate) fn selects_groups(&self) -> bool {
        self.filter.is_some() || self.dynamic.is_some()
    }

    /// How the rows that are learned from are answered.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking {
            phases: [SOLVE, GRADE],
            n: self.n,
            sampling: &self.sampling,
            reward: &self.reward,
            draws: None,
            round: 0,
            is_learned: true,
        }
    }
}

fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = population_faults(config);
    faults.extend(single_population_fault(config));
    faults.extend(role_faults(config));
    let members: u32 = config.populations.values().flat_map(|of| &of.members).map(|group| group.count).sum();
    faults.extend(parameters.faults("/parameters", members, config.compute));
    faults
}

impl Parameters {
    /// Faults of these parameters, whose pointer in the config is `at`, for this many members that learn.
    pub(crate) fn faults(&mut self, at: &str, members: u32, compute: Compute) -> Vec<Fault> {
        let mut faults = self.dataset.faults(&format!("{at}/dataset"));
        faults.extend(self.reward.resolve(&format!("{at}/reward")));
        faults.extend(self.sampler.faults(&format!("{at}/sampler")));
        let mut fault = |pointer: &str, detail: String| faults.push(Fault::new(format!("{at}/{pointer}"), detail));
        if let Err(unknown) = PromptStyle::shipped(&self.prompts) {
            fault("prompts", unknown.to_string());
        }
        let slices = if self.slices { members.max(1) } else { 1 };
        // Where all rows of a dataset are used, their number is known only when the config is submitted.
        let rows = self.learned_rows().map(|rows| rows / slices);
        if let Some(detail) = held_out_fault(self, slices) {
            fault("held_out/rows", detail);
        } else if let Some(rows) = rows.filter(|rows| self.batch > *rows) {
            let detail = format!(
                "{} is more than the {rows} rows that a member learns from: 1 to {rows} is valid, or a larger dataset",
                self.batch
            );
            fault("batch", detail);
        }
        if let Some(held_out) = self.held_out
            && held_out.n > 1
            && held_out.temperature == Some(0.0)
        {
            let detail = format!(
                "{} answers at temperature 0 would all be the same: 1 is valid, or a higher `temperature`",
                held_out.n
            );
            fault("held_out/n", detail);
        }
        if self.n < 2 && self.advantages.estimator.needs_groups() {
            let detail = "1 answer is not a group to compare with: at least 2 is valid, or an estimator without groups, such as \
                          `reinforce_plus_plus`";
            fault("n", detail.to_owned());
        }
        if self.selects_groups() && !self.advantages.estimator.compares_samples() {
            let pointer = if self.dynamic.is_some() { "dynamic" } else { "filter" };
            let detail = "answers to a row teach by what they earn compared with others: `group_relative` and `reinforce_plus_plus_baseline` are \
                          valid estimators";
            fault(pointer, detail.to_owned());
        }
        faults.extend(sampling_faults(&format!("{at}/sampling"), &self.sampling, true));
        let sequences = self.batch.saturating_mul(self.n);
        let pointer = format!("{at}/learning");
        faults.extend(self.learning.faults(&pointer, sequences, compute, &[&self.sampling]));
        faults.extend(self.items.faults(&format!("{at}/items"), compute, &[&self.learning]));
        faults
    }
}

/// The fault of held-out rows that leave members less than a batch, though all rows would be enough.
fn held_out_fault(parameters: &Parameters, slices: u32) -> Option<String> {
    let (rows, left) = (parameters.dataset.rows?, parameters.learned_rows()?);
    let held_out = parameters.held_out?.rows;
    let needed = parameters.batch.saturating_mul(slices);
    let most = rows.checked_sub(needed).filter(|_| left < needed)?;
    let valid = match most {
        0 => "none can be held out".to_owned(),
        most => format!("1 to {most} is valid"),
    };
    Some(format!(
        "{held_out} of {rows} rows leave {left} to learn from, and a step needs {needed}: {valid} with this `batch`, more with \
         a smaller one or a larger dataset"
    ))
}

fn role_faults(config: &RunConfig) -> Vec<Fault> {
    let groups = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter().enumerate();
        groups.map(move |(index, group)| (name, index, group))
    });
    let wrong = groups.filter(|(_, _, group)| group.roles != [Role::Solver]);
    let fault = |(name, index, _): (&String, usize, _)| {
        let place = format!("/populations/{}/members/{index}/roles", pointer_token(name));
        Fault::new(place, "[\"solver\"] is valid: every member answers rows of the dataset")
    };
    wrong.map(fault).collect()
}
