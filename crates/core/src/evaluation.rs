//! Planned work on frozen versions that changes no run.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AttemptId, ExecutionId, MemberId, VersionId},
    work::{BaseModel, Compute},
};

/// What an evaluation measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum EvaluationSpec {
    /// Answers of versions to suites.
    Benchmark {
        /// Suites by name; each needs an imported dataset.
        #[schemars(length(min = 1, max = 64))]
        suites: Vec<String>,
        /// Exact weights to measure.
        #[serde(default)]
        versions: Vec<VersionId>,
        /// Measures every member of this run that lives, as well.
        #[serde(default)]
        run: Option<ExecutionId>,
        /// The members of the run when this many steps were done, with their weights of then; left out, those of now.
        #[serde(default)]
        step: Option<u32>,
        /// Measures a model without adapter, as well: a base, or a merged model's folder.
        #[serde(default)]
        base_model: Option<BaseModel>,
        /// Measures the bases of the versions and of the run, as well.
        #[serde(default = "yes")]
        base: bool,
        /// Samples a row.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 10_000))]
        n: u32,
        /// The first so many rows of each suite alone, for a quick look; scores are then not the published ones.
        #[serde(default)]
        #[schemars(range(min = 1))]
        rows: Option<u32>,
        /// The prompt style, in place of the suites': `azr`, `chat`, `completion` or `seedling`.
        #[serde(default)]
        prompts: Option<String>,
        /// Softmax temperature, in place of the suites'; 0 is greedy.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 100.0))]
        temperature: Option<f64>,
        /// Nucleus, in place of the suites'.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        top_p: Option<f64>,
        /// Tokens of an answer, at most, in place of the suites'.
        #[serde(default)]
        #[schemars(range(min = 1))]
        max_tokens: Option<u32>,
        /// How the engine computes.
        #[serde(default)]
        compute: Compute,
    },
    /// Teachers against students that have not met: the teachers' newest valid problems in front of those students.
    CrossPlay {
        /// The run.
        run: ExecutionId,
        /// Students play with the versions that this step starts from, at problems that were proposed before it.
        step: u32,
        /// Problems a cell, at most; all students of a teacher get the same.
        #[schemars(range(min = 1, max = 1000))]
        problems: u32,
        /// Attempts at each problem.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1000))]
        samples: u32,
        /// Who meets whom; left out, all members of the step that have not met before it.
        #[serde(default)]
        #[schemars(length(max = 1600))]
        cells: Vec<Pairing>,
    },
    /// One side held at a step, the other at every step given.
    FrozenSide {
        /// The run.
        run: ExecutionId,
        /// The step at which the frozen side is held.
        frozen_step: u32,
        /// The steps at which the other side plays.
        steps: Vec<u32>,
        /// Which side is held.
        frozen: Side,
    },
    /// A child of each operator, retrained, against its parents (PopuLoRA, section 4.6).
    OperatorRetention {
        /// The run.
        run: ExecutionId,
        /// The parents.
        parents: Vec<MemberId>,
        /// Operators of the catalogue.
        operators: Vec<String>,
    },
    /// A stored attempt, generated again and compared.
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
    /// Who proposed.
    pub teacher: MemberId,
    /// Who is to solve.
    pub student: MemberId,
}

/// A side of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Those who propose.
    Teacher,
    /// Those who solve.
    Student,
}
