//! Rows about problems: proposals, attempts and their outcomes, answers to rows of datasets, and results of evaluations.

use serde::{Deserialize, Serialize};

use crate::benchmark::{Graded, Score, SubjectRole};
use crate::contract::Role;
use crate::dataset::TestFault;
use crate::id::{AttemptId, DatasetId, ExecutionId, MemberId, ProblemId, VersionId};
use crate::prompt::ReadingRule;
use crate::verify::{ProblemKind, Status};
use crate::work::{BaseModel, BenchmarkSample, WorkKey};

/// A proposed problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemRecord {
    pub id: ProblemId,
    /// Its index within its step.
    pub index: u32,
    /// The proposer and the version of its weights; `None` for a seed problem.
    pub proposer: Option<(MemberId, VersionId)>,
    /// The work item it came from; `None` for a seed problem.
    pub source: Option<WorkKey>,
    pub kind: ProblemKind,
    /// The prompt given to the proposer.
    pub prompt: String,
    /// The proposer's response, unparsed.
    pub proposal: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// Why it is or is not valid.
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// The program, if one was found.
    pub program: Option<String>,
    /// The shown and the hidden values, by type: inputs, outputs and message.
    pub values: serde_json::Value,
    /// The four structural metrics (PopuLoRA, appendix 10): AST depth, cyclomatic complexity, lines, variables.
    pub descriptor: Option<[f32; 4]>,
    /// Its cell in the archive.
    pub cell: Option<u32>,
    /// The problems it is derived from.
    pub parents: Vec<(ProblemId, ParentRelation)>,
}

impl ProblemRecord {
    /// A valid problem that nobody proposed, without content.
    pub fn new(id: ProblemId, index: u32, kind: ProblemKind) -> Self {
        Self {
            id,
            index,
            proposer: None,
            source: None,
            kind,
            prompt: String::new(),
            proposal: String::new(),
            valid: true,
            status: Status::Ok,
            reason: String::new(),
            program: None,
            values: serde_json::Value::Null,
            descriptor: None,
            cell: None,
            parents: Vec::new(),
        }
    }
}

/// The role of an earlier problem for a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ParentRelation {
    /// Shown to the proposer as an example to differ from (Absolute Zero).
    Reference,
    /// The hard problem a lemma was made for (GASP).
    Goalpost,
    /// The lemma a lift was made from (GASP).
    Lemma,
    /// The problem that this one asks in another form: one input or output of its program (GASP).
    Original,
}

crate::named!(ParentRelation, "a relation to a parent");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemOutcomeRecord {
    pub problem: ProblemId,
    /// Share of attempts that solved it; `None` if there were none.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: u32,
    /// Its proposer's reward.
    pub reward: f32,
    /// The parts of the reward, by name.
    pub reward_parts: serde_json::Value,
}

/// One answer of one member to a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    pub id: AttemptId,
    pub problem: ProblemId,
    /// The solver and the version of its weights.
    pub solver: (MemberId, VersionId),
    /// The role it played.
    pub role: Role,
    /// The index of the sample.
    pub sample: u32,
    /// Its response, unparsed.
    pub text: String,
    /// The extracted answer.
    pub answer: Option<String>,
    /// The rule that found it, if the run reads answers by several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingRule>,
    /// Whether the answer has the required form.
    pub well_formed: bool,
    /// How the verifier's execution ended.
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    pub reward: f32,
    /// The parts of the reward, by name.
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: u32,
}

/// All members' answers to a row of a dataset in a step, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAnswersRecord {
    /// The row's problem.
    pub problem: ProblemId,
    /// The row's place in the dataset, from 0.
    pub row: u32,
    pub answers: u32,
    pub correct: u32,
}

/// A member's answers to the held-out rows in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldOutRecord {
    /// The member and the version of its weights, with which it began the step.
    pub solver: (MemberId, VersionId),
    /// The place of the first held-out row in the dataset.
    pub first_row: u32,
    /// Answers to each row.
    pub n: u32,
    /// How many of them are correct, by row.
    pub correct: Vec<u32>,
}

/// How often a subject of an evaluation solved each of some problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostCountRecord {
    /// The index of the subject.
    pub subject: u32,
    pub name: String,
    /// Whether it is the untrained base in place of the checkpoint that run, member and step name.
    pub control: bool,
    pub run: Option<ExecutionId>,
    /// The member of the run.
    pub member: Option<MemberId>,
    /// The exact weights; none for a base.
    pub version: Option<VersionId>,
    /// Finished steps of the run when the member had these weights.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: String,
    /// The dataset with the problems.
    pub dataset: DatasetId,
    /// The place of the first problem in the dataset.
    pub first_row: u32,
    /// Attempts at each problem.
    pub n: u32,
    /// How many of them are correct, by problem.
    pub correct: Vec<u32>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Time spent on generation, summed over all its items, in seconds.
    pub seconds: f64,
}

/// The result of an evaluation's subject on a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResultRecord {
    pub suite: String,
    /// The index of the subject.
    pub subject: u32,
    pub name: String,
    pub role: SubjectRole,
    /// The run it belongs to.
    pub run: Option<ExecutionId>,
    /// The member of the run.
    pub member: Option<MemberId>,
    /// Its exact weights.
    pub version: Option<VersionId>,
    /// Number of the run's steps that the weights have been through.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The dataset with the rows.
    pub dataset: DatasetId,
    /// How the model was prompted and sampled.
    pub protocol: serde_json::Value,
    /// Samples per row.
    pub n: u32,
    /// Counts of samples and of correct ones, by row.
    pub score: Score,
    /// The score by only the base benchmark's tests, if they are counted separately.
    pub base: Option<Score>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Mean surprisal of a token, in nats: an estimate of the entropy of the distribution that tokens were drawn from, so
    /// it depends on the temperature. `None` if a worker did not report it.
    pub entropy: Option<f64>,
    /// Time spent on generation, summed over all its items, in seconds.
    pub seconds: f64,
}

/// A graded sample of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSampleRecord {
    pub suite: String,
    /// The index of the subject that made it.
    pub subject: u32,
    pub task_id: String,
    pub sample: BenchmarkSample,
    pub graded: Graded,
}

/// Bad rows that a step of a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetCheckRecord {
    pub dataset: DatasetId,
    /// The rows, by place from 0, and what is wrong with their tests.
    pub bad: Vec<(u32, TestFault)>,
    /// Whether all rows have been checked now.
    pub is_last: bool,
}
