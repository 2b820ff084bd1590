//! Evaluations of type `dataset_check`: the tests of a dataset's rows are tried with an empty program, which must fail them,
//! and with the row's canonical solution, which must pass.
//!
//! Bad rows are written as a step ends, and with the last step the dataset counts as checked.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    contract::{self, DatasetCheckRecord, Plan, PlanError, RunState, StepView},
    dataset::{problem, test_fault, trial},
    evaluations::read,
    fault::{Fault, Faults},
    id::DatasetId,
    kit::{Draft, Progress, join},
    verify::Task,
};

/// Rows of a step, which the coordinator holds in memory together.
pub const ROWS_PER_STEP: u32 = 512;
/// Rows of an item: seconds of work.
pub const ROWS_PER_ITEM: u32 = 16;

/// The planner of evaluations of type `dataset_check`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatasetCheckEvaluation;

/// The rows to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetCheckParameters {
    pub dataset: DatasetId,
    /// All its rows.
    pub rows: u32,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetCheckResult {
    pub dataset: DatasetId,
    pub rows: u32,
    /// Those with bad tests.
    pub bad_rows: u32,
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
    type Memory = u32;

    const NAME: &'static str = "evaluation/dataset_check";
    const SUMMARY: &'static str = "Tries the tests of a dataset's rows with programs whose verdict is known.";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters: DatasetCheckParameters = read(&config)?;
        config.steps = parameters.rows.div_ceil(ROWS_PER_STEP);
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &DatasetCheckParameters) -> u32 {
        0
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &DatasetCheckParameters,
        bad_rows: u32,
    ) -> Result<Plan, PlanError> {
        let mut draft = Draft::new(run, view, Vec::new());
        let outcome = check(&mut draft, *parameters, bad_rows);
        draft.close(outcome)
    }
}

fn check(draft: &mut Draft<'_>, parameters: DatasetCheckParameters, earlier: u32) -> Progress<RunState> {
    let DatasetCheckParameters { dataset, rows } = parameters;
    let first = draft.run.step * ROWS_PER_STEP;
    let places: Vec<u32> = (first..rows.min(first + ROWS_PER_STEP)).collect();
    let read = draft.rows(dataset, &places)?;
    let mut trials: Vec<(u32, Vec<Task>)> = Vec::new();
    for (place, row) in places.into_iter().zip(read) {
        // Rows without tests, such as seeds, have other forms.
        let tasks = problem(place as usize, &row.0)
            .map(|row| trial(place, &row))
            .unwrap_or_default();
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
        let mut bad = Vec::new();
        for (place, tasks) in trials {
            let (own, others) = verdicts.split_at(tasks.len());
            verdicts = others;
            bad.extend(test_fault(own).map(|fault| (*place, fault)));
        }
        Ok(bad)
    })?;
    let bad = found.concat();
    let bad_rows = earlier + bad.len() as u32;
    let next = draft.run.next("", &bad_rows)?;
    draft.plan.records.dataset_checks = vec![DatasetCheckRecord {
        dataset,
        bad,
        is_last: next.completed,
    }];
    draft.plan.result = Some(serde_json::to_value(DatasetCheckResult {
        dataset,
        rows,
        bad_rows,
    })?);
    Ok(next)
}

/// Tries the tests of a dataset's rows with an empty program, which must fail them, and with the row's canonical solution,
/// which must pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetCheckSpec {
    /// The dataset, by name or id.
    #[schemars(length(min = 1, max = 200))]
    pub dataset: String,
}
