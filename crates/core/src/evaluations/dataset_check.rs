//! Evaluations of type `dataset_check`: the tests of a dataset's rows are tried with an empty program, which must fail them,
//! and with the row's canonical solution, which must pass.
//!
//! Bad rows are written as a step ends, and with the last step the dataset counts as checked. A dry run of a reward scores
//! answers to the first rows in the same way, and writes nothing about the dataset.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::benchmark::OwnOracle;
use crate::config::RunConfig;
use crate::contract::{self, DatasetCheckRecord, Plan, PlanError, RunState, StepView};
use crate::dataset::{problem, test_fault, trial};
use crate::evaluations::read;
use crate::fault::{Fault, Faults};
use crate::id::DatasetId;
use crate::kit::{Draft, Progress, join};
use crate::verify::{Status, Task, Verdict};

/// Rows of a step, which the coordinator holds in memory together.
pub const ROWS_PER_STEP: u32 = 512;
/// The first rows, whose scores are shown where a reward gives them.
const SCORED_ROWS: u32 = 10;
/// Most rows of a dry run.
const MAX_DRY_ROWS: u32 = 100;
/// Most bytes of the answer that a dry run tries.
const MAX_COMPLETION: usize = 64 << 10;
/// Rows of an item: seconds of work.
pub const ROWS_PER_ITEM: u32 = 16;

/// The planner of evaluations of type `dataset_check`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatasetCheckEvaluation;

/// The rows to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetCheckParameters {
    pub dataset: DatasetId,
    /// All its rows, or as many as a dry run scores.
    pub rows: u32,
    /// Set in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRun>,
}

/// What a dry run tries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DryRun {
    /// In place of what the rows name themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OwnOracle>,
    /// An answer to every row, besides the empty one and the row's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetCheckResult {
    pub dataset: DatasetId,
    pub rows: u32,
    /// Those with bad tests.
    pub bad_rows: u32,
    /// What the reward gave answers to the first rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<RowScore>,
    /// Whether it was a dry run, which says nothing about the dataset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What a reward gave an answer to a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowScore {
    /// The row's index, from 0.
    pub row: u32,
    /// `empty`, `canonical` for the row's own answer, or `completion` for the one that a dry run was given.
    pub answer: String,
    /// The parts of the score; none if it could not be scored.
    pub parts: BTreeMap<String, f64>,
    /// How the reward ended.
    pub status: Status,
    /// Why there is no score; may be empty.
    pub reason: String,
}

/// What is kept between steps: as earlier releases the number of bad rows, or with the scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Memory {
    Counted(u32),
    Scored { bad_rows: u32, scores: Vec<RowScore> },
}

impl Memory {
    fn of(bad_rows: u32, scores: Vec<RowScore>) -> Self {
        if scores.is_empty() { Self::Counted(bad_rows) } else { Self::Scored { bad_rows, scores } }
    }

    fn take(self) -> (u32, Vec<RowScore>) {
        match self {
            Self::Counted(bad_rows) => (bad_rows, Vec::new()),
            Self::Scored { bad_rows, scores } => (bad_rows, scores),
        }
    }
}

impl DatasetCheckEvaluation {
    /// The config of the check of a dataset.
    ///
    /// # Errors
    /// None that is known: parameters are JSON.
    pub fn config(&self, parameters: DatasetCheckParameters) -> Result<RunConfig, Faults> {
        contract::Planner::resolve(
            self,
            RunConfig {
                recipe: contract::Planner::name(self).to_owned(),
                parameters: serde_json::to_value(parameters)
                    .map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?,
                ..RunConfig::default()
            },
        )
    }
}

impl contract::TypedPlanner for DatasetCheckEvaluation {
    type Parameters = DatasetCheckParameters;
    type Memory = Memory;

    const NAME: &'static str = "evaluation/dataset_check";
    const SUMMARY: &'static str = "Can the tests of a dataset's rows judge programs?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters: DatasetCheckParameters = read(&config)?;
        config.steps = parameters.rows.div_ceil(ROWS_PER_STEP);
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &DatasetCheckParameters) -> Memory {
        Memory::Counted(0)
    }

    fn size(&self, parameters: &DatasetCheckParameters) -> Option<(u64, u64)> {
        let rows = u64::from(parameters.rows);
        Some((rows, rows))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &DatasetCheckParameters,
        memory: Memory,
    ) -> Result<Plan, PlanError> {
        let mut draft = Draft::new(run, view, Vec::new());
        let outcome = check(&mut draft, parameters, memory);
        draft.close(outcome)
    }
}

fn check(draft: &mut Draft<'_>, parameters: &DatasetCheckParameters, memory: Memory) -> Progress<RunState> {
    let DatasetCheckParameters { dataset, rows, ref dry_run } = *parameters;
    let DryRun { oracle, completion } = dry_run.clone().unwrap_or_default();
    let oracle = match &oracle {
        Some(oracle) => Some((oracle, draft.reward(oracle.file)?)),
        None => None,
    };
    let limit = match dry_run {
        Some(_) => rows,
        None => SCORED_ROWS,
    };
    let (earlier, mut scores) = memory.take();
    let first = draft.run.step * ROWS_PER_STEP;
    let places: Vec<u32> = (first..rows.min(first + ROWS_PER_STEP)).collect();
    let read = draft.rows(dataset, &places)?;
    let mut trials: Vec<(u32, Vec<Task>)> = Vec::new();
    for (place, row) in places.into_iter().zip(read) {
        // Rows without tests, such as seeds, have other forms.
        let tasks = problem(place as usize, &row.0).map(|row| {
            let row = oracle.map_or_else(|| row.clone(), |(oracle, source)| oracle.judging(&row, source));
            trial(place, &row, completion.as_deref())
        });
        let tasks = tasks.unwrap_or_default();
        if !tasks.is_empty() {
            trials.push((place, tasks));
        }
    }
    let items = (0..).zip(trials.chunks(ROWS_PER_ITEM as usize));
    let found = join(items, |(chunk, trials)| {
        let tasks = || trials.iter().flat_map(|(_, tasks)| tasks.iter().cloned()).collect();
        let count = trials.iter().map(|(_, tasks)| tasks.len()).sum();
        let key = draft.key("check", chunk);
        let mut verdicts = draft.verify(&key, count, tasks)?;
        let (mut bad, mut scored) = (Vec::new(), Vec::new());
        for (place, tasks) in trials {
            let (own, others) = verdicts.split_at(tasks.len());
            verdicts = others;
            if dry_run.is_none() {
                bad.extend(test_fault(own).map(|fault| (*place, fault)));
            }
            if *place < limit {
                scored.extend(tasks.iter().zip(own).filter_map(|(task, verdict)| score(*place, task, verdict)));
            }
        }
        Ok((bad, scored))
    })?;
    let (bad, scored): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let bad = bad.concat();
    scores.extend(scored.into_iter().flatten());
    let bad_rows = earlier + bad.len() as u32;
    let next = draft.run.next("", &Memory::of(bad_rows, scores.clone()))?;
    if dry_run.is_none() {
        draft.plan.records.dataset_checks = vec![DatasetCheckRecord { dataset, bad, is_last: next.completed }];
    }
    draft.plan.result =
        Some(serde_json::to_value(DatasetCheckResult { dataset, rows, bad_rows, scores, dry_run: dry_run.is_some() })?);
    Ok(next)
}

/// The score of an answer; none if its row has no reward.
fn score(row: u32, task: &Task, verdict: &Verdict) -> Option<RowScore> {
    Some(RowScore {
        row,
        answer: task.id.rsplit('/').next().unwrap_or_default().to_owned(),
        parts: verdict.parts.clone()?,
        status: verdict.status,
        reason: verdict.reason.clone(),
    })
}

/// Tries the tests of a dataset's rows with an empty program, which must fail them, and with the row's canonical solution,
/// which must pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetCheckSpec {
    /// The dataset, by name or id.
    #[schemars(length(min = 1, max = 200))]
    pub dataset: String,
    /// A dry run of its reward: only the first N rows are scored, and nothing is noted about the dataset. 10 by
    /// default with one of the next two fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_DRY_ROWS))]
    pub rows: Option<u32>,
    /// A dry run of this reward, in place of what the rows name themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OwnOracle>,
    /// A dry run with this answer to every row, besides the empty one and the row's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_COMPLETION))]
    pub completion: Option<String>,
}

impl DatasetCheckSpec {
    /// The check of all rows of a dataset.
    pub fn of(dataset: String) -> Self {
        Self { dataset, rows: None, oracle: None, completion: None }
    }

    /// What a dry run tries, and on how many rows; `None` for a check.
    pub fn dry_run(&self) -> Option<(u32, DryRun)> {
        let tried = DryRun { oracle: self.oracle.clone(), completion: self.completion.clone() };
        let is_dry = self.rows.is_some() || tried != DryRun::default();
        is_dry.then(|| (self.rows.unwrap_or(SCORED_ROWS), tried))
    }
}
