//! Parameters of a resolved cross-play evaluation: exact problems and exact weights.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::{
    config::RunConfig,
    contract::PlanError,
    fault::{Fault, Faults},
    id::{ExecutionId, MemberId, ProblemId},
    recipes::populora,
    work::AdapterRef,
};

/// The pairs to play, and their problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossPlayParameters {
    /// The run whose matrix is filled.
    pub run: ExecutionId,
    /// The step the attempts are recorded for.
    pub step: u32,
    /// Attempts at each problem.
    pub samples: u32,
    pub students: Vec<Contestant>,
    /// The cells; each pair of teacher and student occurs once.
    pub cells: Vec<CrossPlayCell>,
    /// The parameters of the run: its prompts, sampling and items.
    pub play: serde_json::Value,
}

/// A student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contestant {
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    /// Its exact weights.
    pub adapter: AdapterRef,
}

/// One teacher's problems given to one student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossPlayCell {
    /// The proposer.
    pub teacher: MemberId,
    /// Its name in the run.
    pub name: String,
    /// The solver: a position among the students.
    pub student: u32,
    /// Valid problems of the teacher.
    pub problems: Vec<ProblemId>,
}

impl CrossPlayParameters {
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
        if parameters.samples == 0 {
            fault("samples", "0 attempts: 1 is the least".to_owned());
        }
        if parameters.cells.is_empty() {
            fault("cells", "there is no cell to fill".to_owned());
        }
        let mut met = BTreeSet::new();
        for (at, cell) in parameters.cells.iter().enumerate() {
            let place = format!("cells/{at}");
            if cell.problems.is_empty() {
                fault(&place, format!("teacher {} has no problem in it", cell.name));
            }
            if parameters.students.get(cell.student as usize).is_none() {
                let detail = format!("student {} of {}", cell.student, parameters.students.len());
                fault(&place, detail);
            }
            if !met.insert((cell.teacher, cell.student)) {
                fault(&place, "this teacher and this student are listed twice".to_owned());
            }
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The parameters of the run.
    pub(super) fn play(&self) -> Result<populora::Parameters, PlanError> {
        Ok(populora::Parameters::deserialize(&self.play)?)
    }
}
