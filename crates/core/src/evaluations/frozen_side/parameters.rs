//! Parameters of a resolved frozen-side evaluation: exact weights on both sides.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    contract::PlanError,
    fault::{Fault, Faults},
    id::{ExecutionId, MemberId},
    kit::{Pool, code::Play},
    work::AdapterRef,
};

/// The versions of both sides, and how they play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenSideParameters {
    /// The run whose prompts, sampling and pool are used.
    pub run: ExecutionId,
    /// Valid problems of each teacher version.
    pub problems: u32,
    /// Attempts of each student version at each problem.
    pub samples: u32,
    /// The versions that solve: columns of the matrix.
    pub students: Vec<FrozenVersion>,
    /// The versions that propose: rows of the matrix.
    pub teachers: Vec<FrozenVersion>,
    /// The earlier problems shown to proposers, the same for all.
    pub pool: Pool,
    /// The most samples of one work item.
    pub samples_per_item: u32,
    /// The parameters of the run.
    pub play: serde_json::Value,
}

/// A member with its weights at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenVersion {
    pub run: ExecutionId,
    /// The run's name, if it is not the evaluation's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    /// Finished steps when it had these weights.
    pub step: u32,
    /// The exact weights.
    pub adapter: AdapterRef,
}

impl FrozenSideParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let parameters: Self = serde_json::from_value(config.parameters.clone())
            .map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if config.populations.len() != 1 {
            let detail = format!("a run with {} populations: 1 is valid", config.populations.len());
            fault("run", detail);
        }
        if let Err(error) = parameters.play() {
            fault("play", error.to_string());
        }
        for (name, count) in [
            ("problems", parameters.problems),
            ("samples", parameters.samples),
            ("samples_per_item", parameters.samples_per_item),
        ] {
            if count == 0 {
                fault(name, "0 is too small: at least 1 is valid".to_owned());
            }
        }
        for (name, versions) in [("students", &parameters.students), ("teachers", &parameters.teachers)] {
            if versions.is_empty() {
                fault(name, "at least one version is needed".to_owned());
            }
            let repeated = versions.iter().enumerate().find(|(at, version)| {
                let mut earlier = versions[..*at].iter();
                earlier.any(|other| other.adapter.version == version.adapter.version)
            });
            if let Some((at, version)) = repeated {
                let detail = format!("{} after {} steps is listed twice", version.name, version.step);
                fault(&format!("{name}/{at}"), detail);
            }
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The parameters of the run.
    pub(super) fn play(&self) -> Result<Play, PlanError> {
        Ok(Play::deserialize(&self.play)?)
    }
}
