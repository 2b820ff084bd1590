//! Evaluations of type `frozen_side`.

use serde::{Deserialize, Serialize};

use crate::evaluations::one;
use crate::id::ExecutionId;

/// Lets student versions attempt fresh problems of teacher versions: a matrix of solve rates. Rates that rise along the
/// students and fall along the teachers are evidence of an arms race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrozenSideSpec {
    /// The run whose prompts, sampling and pool are used, and whose versions play unless a moment names another run.
    pub run: ExecutionId,
    /// The moments of each side that is not given: all living members of that side after these numbers of steps. 0 are
    /// the first weights.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub steps: Vec<u32>,
    /// The columns of the matrix: versions that solve.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub students: Vec<Moment>,
    /// The rows of the matrix: versions that propose.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub teachers: Vec<Moment>,
    /// Valid problems of each teacher version, proposed for this evaluation; all students attempt the same ones.
    #[serde(default = "problems")]
    #[schemars(range(min = 1, max = 1000))]
    pub problems: u32,
    /// Attempts of each student version at each problem.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub samples: u32,
    /// All teachers are shown problems of the run's pool after this many steps, so rows differ only by weights.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub pool_step: u32,
}

/// Members at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Their run; left out, the evaluation's run. Its base model and adapter shape must be the same.
    #[serde(default)]
    pub run: Option<ExecutionId>,
    /// They have their weights after this many steps of the run; 0 are the first weights.
    pub step: u32,
    /// One member, by name; left out, all living members of the side.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub member: Option<String>,
}

fn problems() -> u32 {
    64
}
