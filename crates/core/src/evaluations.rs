//! Planned work on frozen versions that does not change any run, one folder per type.

pub mod benchmark;
pub mod cross_play;
pub mod dataset_check;
pub mod frozen_side;
pub mod goalposts;
pub mod majority_vote;
pub mod operator_retention;
pub mod regenerate;

pub use self::benchmark::{BenchmarkEvaluation, BenchmarkParameters, BenchmarkSpec, BenchmarkSubject, SuiteSlice};
pub use self::cross_play::{
    Contestant, CrossPlayCell, CrossPlayEvaluation, CrossPlayParameters, CrossPlaySpec, Pairing,
};
pub use self::dataset_check::{DatasetCheckEvaluation, DatasetCheckParameters, DatasetCheckResult, DatasetCheckSpec};
pub use self::frozen_side::{
    FrozenCell, FrozenSideEvaluation, FrozenSideParameters, FrozenSideResult, FrozenSideSpec, FrozenTeacher,
    FrozenVersion, Moment, Trend,
};
pub use self::goalposts::{
    GoalpostParameters, GoalpostSubject, GoalpostsEvaluation, GoalpostsMeasured, GoalpostsResult, GoalpostsSpec,
    RunCheckpoints,
};
pub use self::majority_vote::{MajorityVoteEvaluation, MajorityVoteResult, Voted};
pub(crate) use self::operator_retention::arity;
pub use self::operator_retention::{
    OperatorRetentionEvaluation, OperatorRetentionSpec, Parent, ParentVersion, RetentionParameters, RetentionTask,
};
pub use self::regenerate::{
    FirstDifference, RegenerateEvaluation, RegenerateParameters, RegenerateResult, RegenerateSpec, RegeneratedSample,
};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::RunConfig;
use crate::fault::{Fault, Faults};
use crate::id::ExecutionId;

/// What an evaluation measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema, strum::EnumDiscriminants)]
#[strum_discriminants(
    name(EvaluationType),
    doc = "The type of an evaluation.",
    derive(Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr, strum::VariantArray),
    serde(rename_all = "snake_case"),
    strum(serialize_all = "snake_case")
)]
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
    /// Measures the majority vote of versions' answers to rows of mathematics (maj@n).
    MajorityVote(BenchmarkSpec),
    /// Retrains a child of each operator and compares it with its parents (PopuLoRA, section 4.6).
    OperatorRetention(OperatorRetentionSpec),
    /// Generates a recorded sample again and compares the two.
    Regenerate(RegenerateSpec),
}

impl EvaluationSpec {
    /// The value of `type`.
    pub fn name(&self) -> &'static str {
        EvaluationType::from(self).name()
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
            Self::Benchmark(spec) | Self::MajorityVote(spec) => spec.run,
            Self::CrossPlay(spec) => Some(spec.run),
            Self::FrozenSide(spec) => Some(spec.run),
            Self::Goalposts(spec) => spec.runs.first().map(|checkpoints| checkpoints.run),
            Self::OperatorRetention(spec) => spec.run(),
            Self::DatasetCheck(_) | Self::Regenerate(_) => None,
        }
    }
}

impl EvaluationType {
    /// Its name in specs.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name of its planner.
    pub fn planner(self) -> String {
        format!("evaluation/{}", self.name())
    }
}

/// The parameters of a config, which the server has written.
fn read<T: DeserializeOwned>(config: &RunConfig) -> Result<T, Faults> {
    T::deserialize(&config.parameters).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Registry;
    use serde_json::json;
    use strum::VariantArray as _;
    use uuid::Uuid;

    #[test]
    fn every_type_has_a_planner() {
        for kind in EvaluationType::VARIANTS {
            assert!(Registry::shipped().is_evaluation(&kind.planner()), "{}", kind.name());
        }
    }

    #[test]
    fn answers_are_rows_by_samples_by_subjects() {
        let size =
            |kind: EvaluationType, parameters| Registry::shipped().planner(&kind.planner()).unwrap().size(&parameters);
        let check = json!({"dataset": Uuid::nil(), "rows": 1319});
        assert_eq!(size(EvaluationType::DatasetCheck, check), Some((1319, 1319)));
        assert_eq!(size(EvaluationType::DatasetCheck, json!({})), None, "these are no parameters");
        let protocol = json!({"prompts": "seedling", "temperature": 0.0, "max_tokens": 8});
        let suite = |rows, n: Option<u32>| {
            let mut suite = json!({"suite": "s", "dataset": Uuid::nil(), "rows": rows, "protocol": protocol});
            if let Some(n) = n {
                suite["n"] = json!(n);
            }
            suite
        };
        let base = json!({"name": "seedling"});
        let subject = json!({"name": "seedling", "role": "base", "base_model": base});
        let of = |subjects: &[serde_json::Value]| {
            let suites = [suite(100, None), suite(10, Some(8))];
            size(
                EvaluationType::Benchmark,
                json!({"suites": suites, "subjects": subjects, "n": 2, "samples_per_item": 1}),
            )
        };
        assert_eq!(of(&[]), Some((110, 0)), "nobody answers");
        assert_eq!(of(&[subject.clone(), subject]), Some((110, 560)));
    }
}
