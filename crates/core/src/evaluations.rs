//! Planned work on frozen versions that does not change any run, one folder per type.

pub mod benchmark;
pub mod cross_play;
pub mod dataset_check;
pub mod frozen_side;
pub mod goalposts;
pub mod operator_retention;
pub mod regenerate;

pub(crate) use self::operator_retention::arity;
pub use self::{
    benchmark::{BenchmarkEvaluation, BenchmarkParameters, BenchmarkSpec, BenchmarkSubject, SuiteSlice},
    cross_play::{Contestant, CrossPlayCell, CrossPlayEvaluation, CrossPlayParameters, CrossPlaySpec, Pairing},
    dataset_check::{DatasetCheckEvaluation, DatasetCheckParameters, DatasetCheckResult, DatasetCheckSpec},
    frozen_side::{
        FrozenCell, FrozenSideEvaluation, FrozenSideParameters, FrozenSideResult, FrozenSideSpec, FrozenTeacher,
        FrozenVersion, Moment, Trend,
    },
    goalposts::{
        GoalpostParameters, GoalpostSubject, GoalpostsEvaluation, GoalpostsMeasured, GoalpostsResult, GoalpostsSpec,
        RunCheckpoints,
    },
    operator_retention::{
        OperatorRetentionEvaluation, OperatorRetentionSpec, Parent, ParentVersion, RetentionParameters, RetentionTask,
    },
    regenerate::{
        FirstDifference, RegenerateEvaluation, RegenerateParameters, RegenerateResult, RegenerateSpec,
        RegeneratedSample,
    },
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    config::RunConfig,
    fault::{Fault, Faults},
    id::ExecutionId,
};

/// What an evaluation measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EvaluationSpec {
    /// Measures versions on suites.
    Benchmark(BenchmarkSpec),
    /// Lets students attempt the newest valid problems of teachers they have not met.
    CrossPlay(CrossPlaySpec),
    /// Tries the tests of a dataset's rows with programs whose verdict is known.
    DatasetCheck(DatasetCheckSpec),
    /// Lets student versions attempt fresh problems of teacher versions, at chosen steps.
    FrozenSide(FrozenSideSpec),
    /// Lets checkpoints attempt hard problems many times (GASP, appendix C.4).
    Goalposts(GoalpostsSpec),
    /// Retrains a child of each operator and compares it with its parents (PopuLoRA, section 4.6).
    OperatorRetention(OperatorRetentionSpec),
    /// Generates a recorded sample again and compares the two.
    Regenerate(RegenerateSpec),
}

impl EvaluationSpec {
    /// The value of `type`. The planner is called `evaluation/` and this name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Benchmark(_) => "benchmark",
            Self::CrossPlay(_) => "cross_play",
            Self::DatasetCheck(_) => "dataset_check",
            Self::FrozenSide(_) => "frozen_side",
            Self::Goalposts(_) => "goalposts",
            Self::OperatorRetention(_) => "operator_retention",
            Self::Regenerate(_) => "regenerate",
        }
    }

    /// The pointer to [`EvaluationSpec::run`].
    pub fn run_pointer(&self) -> &'static str {
        match self {
            Self::OperatorRetention(_) => "/spec/parents/0/run",
            Self::Goalposts(_) => "/spec/runs/0/run",
            _ => "/spec/run",
        }
    }

    /// The run it is about, if it names one.
    pub fn run(&self) -> Option<ExecutionId> {
        match self {
            Self::Benchmark(spec) => spec.run,
            Self::CrossPlay(spec) => Some(spec.run),
            Self::FrozenSide(spec) => Some(spec.run),
            Self::Goalposts(spec) => spec.runs.first().map(|checkpoints| checkpoints.run),
            Self::OperatorRetention(spec) => spec.run(),
            Self::DatasetCheck(_) | Self::Regenerate(_) => None,
        }
    }
}

/// The parameters of a config, which the server has written.
fn read<T: DeserializeOwned>(config: &RunConfig) -> Result<T, Faults> {
    T::deserialize(&config.parameters).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))
}

fn one() -> u32 {
    1
}
