//! Planned work on frozen versions that does not change any run.

use serde::{Deserialize, Serialize};

use crate::{
    benchmark::{MAX_SAMPLES, SuiteChoice},
    id::{AttemptId, ExecutionId, MemberId, VersionId},
    work::{BaseModel, Compute, MAX_TEMPERATURE},
};

/// What an evaluation measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum EvaluationSpec {
    /// Measures versions on suites.
    Benchmark {
        /// Suites by name, each of which needs an imported dataset; or objects that also name the dataset, `n`, `temperature`
        /// and more.
        #[schemars(length(min = 1, max = 64))]
        suites: Vec<SuiteChoice>,
        /// Exact weights to measure.
        #[serde(default)]
        versions: Vec<VersionId>,
        /// Also measures every living member of this run.
        #[serde(default)]
        run: Option<ExecutionId>,
        /// Measures the run's members as of this many steps, with their weights at that point; left out, the current
        /// ones.
        #[serde(default)]
        step: Option<u32>,
        /// Also measures a model without an adapter: a base, or the folder of a merged model.
        #[serde(default)]
        base_model: Option<BaseModel>,
        /// Also measures the base models of the versions and of the run.
        #[serde(default = "yes")]
        base: bool,
        /// Samples per row.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = MAX_SAMPLES))]
        n: u32,
        /// Use only this many rows of each suite, from the first, for a quick look; scores are then not the published
        /// ones.
        #[serde(default)]
        #[schemars(range(min = 1))]
        rows: Option<u32>,
        /// Prompt style that replaces the suites' own: `azr`, `chat`, `completion` or `seedling`.
        #[serde(default)]
        prompts: Option<String>,
        /// Softmax temperature that replaces the suites' own; 0 is greedy.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
        temperature: Option<f64>,
        /// Nucleus sampling probability (top_p) that replaces the suites' own.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        top_p: Option<f64>,
        /// Maximum tokens per answer; replaces the suites' own limit.
        #[serde(default)]
        #[schemars(range(min = 1))]
        max_tokens: Option<u32>,
        /// How the engine computes.
        #[serde(default)]
        compute: Compute,
    },
    /// Lets students attempt the newest valid problems of teachers they have not met.
    CrossPlay {
        /// The run.
        run: ExecutionId,
        /// Students play with the versions at the start of this step, on problems proposed before it.
        step: u32,
        /// Maximum number of problems per cell; all students of a teacher get the same ones.
        #[schemars(range(min = 1, max = 1000))]
        problems: u32,
        /// Attempts at each problem.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1000))]
        samples: u32,
        /// The pairs to play; left out, all members of the step that have not met before it.
        #[serde(default)]
        #[schemars(length(max = 1600))]
        cells: Vec<Pairing>,
    },
    /// Holds one side at a step and lets the other play at every given step.
    FrozenSide {
        /// The run.
        run: ExecutionId,
        /// The step at which the frozen side is held.
        frozen_step: u32,
        /// The steps at which the other side plays.
        steps: Vec<u32>,
        /// The side that is held.
        frozen: Side,
    },
    /// Retrains a child of each operator and compares it with its parents (PopuLoRA, section 4.6).
    OperatorRetention {
        /// The run.
        run: ExecutionId,
        /// The parents.
        parents: Vec<MemberId>,
        /// Operators of the catalogue.
        operators: Vec<String>,
    },
    /// Generates a stored attempt again and compares the two.
    Regenerate {
        /// The attempt.
        attempt: AttemptId,
    },
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// A teacher and a student.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pairing {
    /// The proposer.
    pub teacher: MemberId,
    /// The solver.
    pub student: MemberId,
}

/// A side of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The proposers.
    Teacher,
    /// The solvers.
    Student,
}
