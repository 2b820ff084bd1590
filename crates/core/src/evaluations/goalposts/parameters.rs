//! What an evaluation of goalposts was resolved to: exact rows, exact weights.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    contract::PlanError,
    evaluations::{BenchmarkSubject, SuiteSlice},
    fault::{Fault, Faults},
    work::Compute,
};

/// Who attempts which problems, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalpostParameters {
    /// The problems and how they are asked; the suite is one with rows like these.
    pub problems: SuiteSlice,
    /// Attempts of each subject at each problem.
    pub n: u32,
    /// Who attempts them.
    pub subjects: Vec<GoalpostSubject>,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
    /// Samples of one item, at most, unless those of a single row are more.
    pub samples_per_item: u32,
    /// Samples of one step, at most, unless those of a single row are more.
    pub samples_per_step: u32,
}

/// A checkpoint, or its control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalpostSubject {
    /// The model. A control has the run, member and step of its checkpoint, and no adapter.
    pub subject: BenchmarkSubject,
    /// Whether it is the untrained base in place of a checkpoint.
    pub control: bool,
}

impl GoalpostSubject {
    /// Names the subject's draws, which differ from those of all others.
    pub(super) fn path(&self) -> String {
        let BenchmarkSubject { run, member, step, .. } = &self.subject;
        let run = run.map(|run| run.to_string()).unwrap_or_default();
        let member = member.map(|member| member.0.to_string()).unwrap_or_default();
        let step = step.map(|step| step.to_string()).unwrap_or_default();
        let who = if self.control { "control" } else { "checkpoint" };
        format!("goalposts/{}/{run}/{member}/{step}/{who}", self.subject.base_model.name)
    }
}

impl GoalpostParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(value: &serde_json::Value) -> Result<Self, Faults> {
        let parameters: Self = serde_json::from_value(value.clone())
            .map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if parameters.subjects.is_empty() {
            fault("subjects", "there is no checkpoint to attempt them".to_owned());
        }
        if parameters.n == 0 || parameters.samples_per_item == 0 {
            fault("n", "0 attempts: 1 is the least".to_owned());
        }
        for misfit in parameters.problems.misfits(parameters.n) {
            fault("problems", misfit);
        }
        Faults(faults).or(parameters)
    }

    /// Those of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    pub(super) fn rows_per_step(&self) -> u32 {
        (self.samples_per_step / self.n.max(1)).clamp(1, self.problems.rows.max(1))
    }

    /// Steps of a subject.
    pub(super) fn slices(&self) -> u32 {
        self.problems.rows.div_ceil(self.rows_per_step()).max(1)
    }

    /// All steps.
    pub(super) fn steps(&self) -> u32 {
        self.slices() * self.subjects.len() as u32
    }

    /// The stage of a step: who attempts.
    pub(super) fn stage(&self, step: u32) -> String {
        let subject = self.subjects.get((step / self.slices()) as usize);
        subject.map(|of| of.subject.name.clone()).unwrap_or_default()
    }
}
