//! Parameters of a resolved evaluation: exact weights and exact rows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::config::RunConfig;
use crate::contract::PlanError;
use crate::evaluations::{arity, read};
use crate::evolution::operator;
use crate::fault::{Fault, Faults};
use crate::id::{DatasetId, ExecutionId, MemberId};
use crate::recipes::rlvr;
use crate::work::AdapterRef;

/// The parents with their tasks, and what is done with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionParameters {
    /// The parents, each with its task.
    pub tasks: Vec<RetentionTask>,
    /// Steps of the parents' runs after which children are made.
    pub snapshots: Vec<u32>,
    /// Operators of the catalogue, or `init`.
    pub operators: Vec<String>,
    /// Steps of retraining.
    pub steps: u32,
    /// Steps between measurements.
    pub every: u32,
    /// Rows of each task that are measured.
    pub rows: u32,
    /// Answers to each of them.
    pub n: u32,
    /// Children of each operator at each snapshot.
    pub seeds: u32,
    /// The parameters of the parents' runs: prompts, sampling, learning.
    pub training: serde_json::Value,
}

/// A parent and what it learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionTask {
    /// The parent's run.
    pub run: ExecutionId,
    /// The parent.
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    /// The dataset it learned from.
    pub dataset: DatasetId,
    /// The place of its first row.
    pub first_row: u32,
    /// How many rows it learned from.
    pub rows: u32,
    /// Its weights by step, which is ascending; the snapshots are among them.
    pub curve: Vec<ParentVersion>,
}

/// A parent's weights after some steps of its run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParentVersion {
    /// Finished steps.
    pub step: u32,
    /// The weights.
    pub adapter: AdapterRef,
}

impl RetentionTask {
    /// The places of its rows.
    pub(super) fn places(&self) -> Range<u32> {
        self.first_row..self.first_row + self.rows
    }

    /// The places of at most `rows` of its rows, evenly spaced.
    pub(super) fn measured(&self, rows: u32) -> Vec<u32> {
        let count = rows.min(self.rows);
        let place = |row: u32| self.first_row + (u64::from(row) * u64::from(self.rows) / u64::from(count)) as u32;
        (0..count).map(place).collect()
    }

    /// Its weights at a snapshot.
    pub(super) fn at(&self, snapshot: u32) -> Option<AdapterRef> {
        let found = self.curve.iter().find(|version| version.step == snapshot);
        found.map(|version| version.adapter)
    }
}

impl RetentionParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let parameters: Self = read(config)?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        match parameters.training() {
            Err(error) => fault("training", error.to_string()),
            Ok(training) if training.sampler.plain().is_none() || training.selects_groups() => {
                let detail = "retraining draws rows without regard to answers and learns from all of them: a run with the sampler \
                              `uniform` or `epochs`, without `filter` and `dynamic`, is valid";
                fault("training", detail.to_owned());
            }
            Ok(_) => {}
        }
        if config.populations.len() != 1 {
            fault("tasks", format!("{} populations: 1 is valid", config.populations.len()));
        }
        for (name, value) in [
            ("steps", parameters.steps),
            ("every", parameters.every),
            ("rows", parameters.rows),
            ("n", parameters.n),
            ("seeds", parameters.seeds),
        ] {
            if value == 0 {
                fault(name, "0: at least 1 is valid".to_owned());
            }
        }
        let ranks = config.populations.values().map(|population| population.lora.r);
        let rank = ranks.min().unwrap_or(u32::MAX);
        for (place, name) in parameters.operators.iter().enumerate() {
            let fits = operator(name).map(|operator| operator.check_rank(&BTreeMap::new(), rank));
            if let Ok(Err(error)) = fits {
                fault(&format!("operators/{place}"), format!("{error}: leave it out"));
            }
            if !arity(name).is_ok_and(|arity| arity.max(1) <= parameters.tasks.len()) {
                fault(&format!("operators/{place}"), format!("{name} has too few parents, or is unknown"));
            }
        }
        for (place, task) in parameters.tasks.iter().enumerate() {
            if task.rows == 0 {
                fault(&format!("tasks/{place}/rows"), "0: at least 1 is valid".to_owned());
            }
            if let Some(missing) = parameters.snapshots.iter().find(|step| task.at(**step).is_none()) {
                let detail = format!("{} has no weights of step {missing}", task.name);
                fault(&format!("tasks/{place}/curve"), detail);
            }
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of the parents' runs.
    pub(super) fn training(&self) -> Result<rlvr::Parameters, PlanError> {
        Ok(rlvr::Parameters::deserialize(&self.training)?)
    }

    /// Every parent's weights.
    pub(super) fn weights(&self) -> impl Iterator<Item = AdapterRef> {
        let versions = self.tasks.iter().flat_map(|task| &task.curve);
        versions.map(|version| version.adapter)
    }

    /// Whether the children are measured after `step` steps of retraining.
    pub(super) fn is_due(&self, step: u32) -> bool {
        step.is_multiple_of(self.every) || step == self.steps
    }
}
