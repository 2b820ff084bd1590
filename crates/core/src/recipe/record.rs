//! Rows that a plan writes: what people look at.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use uuid::Uuid;

use crate::{
    artifact::Digest,
    benchmark::{Graded, Score, SubjectRole},
    id::{AttemptId, DatasetId, ExecutionId, MatchupId, MemberId, PopulationId, ProblemId, VersionId},
    verify::Status,
    work::{BaseModel, BenchmarkSample, LoraShape, WorkKey},
};

/// Rows by table. Each is written once; writing it again changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// New populations.
    pub populations: Vec<PopulationRecord>,
    /// New members.
    pub members: Vec<MemberRecord>,
    /// New adapter versions.
    pub versions: Vec<VersionRecord>,
    /// New problems, valid or not.
    pub problems: Vec<ProblemRecord>,
    /// How problems fared, once they were attempted.
    pub outcomes: Vec<ProblemOutcomeRecord>,
    /// New attempts.
    pub attempts: Vec<AttemptRecord>,
    /// Matchups that were decided.
    pub matchups: Vec<MatchupRecord>,
    /// Ratings after a step.
    pub ratings: Vec<RatingRecord>,
    /// Births.
    pub births: Vec<BirthRecord>,
    /// Deaths.
    pub deaths: Vec<DeathRecord>,
    /// What entered the archive.
    pub insertions: Vec<ArchiveInsertionRecord>,
    /// Metrics of a step.
    pub metrics: Vec<MetricRecord>,
    /// What subjects of an evaluation came to on a suite.
    #[serde(default)]
    pub benchmark_results: Vec<BenchmarkResultRecord>,
    /// The samples behind them.
    #[serde(default)]
    pub benchmark_samples: Vec<BenchmarkSampleRecord>,
    /// The run, and its step, that the attempts of an evaluation are written for; none in a run, whose they are its own.
    #[serde(default)]
    pub attempts_of: Option<(ExecutionId, u32)>,
}

impl Records {
    /// Drops rows that `seen` names already, and names the others in it. A recipe answers everything that should exist each
    /// time it is asked; this keeps the rows of before from being sent to the database again. What has no identifier of its
    /// own stays.
    pub fn retain_new(&mut self, seen: &mut HashSet<(&'static str, Uuid)>) {
        self.populations.retain(|row| seen.insert(("population", row.id.0)));
        self.members.retain(|row| seen.insert(("member", row.id.0)));
        self.versions.retain(|row| seen.insert(("version", row.id.0)));
        self.problems.retain(|row| seen.insert(("problem", row.id.0)));
        self.outcomes.retain(|row| seen.insert(("outcome", row.problem.0)));
        self.attempts.retain(|row| seen.insert(("attempt", row.id.0)));
        self.matchups.retain(|row| seen.insert(("matchup", row.id.0)));
        self.births.retain(|row| seen.insert(("birth", row.child.0)));
        self.deaths.retain(|row| seen.insert(("death", row.member.0)));
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Members of a run that share a base model and an adapter shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationRecord {
    /// The population.
    pub id: PopulationId,
    /// Its name in the config.
    pub name: String,
    /// Its frozen base.
    pub base_model: BaseModel,
    /// The shape of its adapters.
    pub lora: LoraShape,
}

/// What a member plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Proposes to students (PopuLoRA).
    Teacher,
    /// Solves what teachers propose (PopuLoRA, GASP).
    Student,
    /// Proposes (Absolute Zero, R-Zero).
    Proposer,
    /// Solves (Absolute Zero, R-Zero, SAGE).
    Solver,
    /// Proposes (SAGE).
    Challenger,
    /// Plans a solution (SAGE).
    Planner,
    /// Judges a proposal or a plan (SAGE).
    Critic,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 7] = [
        Self::Teacher,
        Self::Student,
        Self::Proposer,
        Self::Solver,
        Self::Challenger,
        Self::Planner,
        Self::Critic,
    ];

    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Teacher => "teacher",
            Self::Student => "student",
            Self::Proposer => "proposer",
            Self::Solver => "solver",
            Self::Challenger => "challenger",
            Self::Planner => "planner",
            Self::Critic => "critic",
        }
    }
}

/// One adapter of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// The member.
    pub id: MemberId,
    /// Its population.
    pub population: PopulationId,
    /// Its name, such as `teacher-2`.
    pub name: String,
    /// What it plays.
    pub roles: Vec<Role>,
}

/// Weights of a member after a birth or an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub id: VersionId,
    /// The member.
    pub member: MemberId,
    /// 0 at birth, one more with each update.
    pub ordinal: u32,
    /// Its PEFT folder.
    pub artifact: Digest,
    /// Its optimizer state, where it has any.
    pub optimizer: Option<Digest>,
}

/// What was proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemRecord {
    /// The problem.
    pub id: ProblemId,
    /// Its place within its step, from 0.
    pub index: u32,
    /// Who proposed it, by which weights; none for a seed problem.
    pub proposer: Option<(MemberId, VersionId)>,
    /// The item of work that it came from; none for a seed problem.
    pub source: Option<WorkKey>,
    /// What is asked of a solver.
    pub kind: super::ProblemKind,
    /// The prompt that the proposer was shown.
    pub prompt: String,
    /// What the proposer answered, unparsed.
    pub proposal: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// Why it may or may not.
    pub status: Status,
    /// The same, said to a person.
    pub reason: String,
    /// The program, where one was found.
    pub program: Option<String>,
    /// What the solver is shown and what stays hidden, by its type: inputs, outputs and message.
    pub values: serde_json::Value,
    /// The four structural metrics (PopuLoRA, appendix 10): AST depth, cyclomatic complexity, lines, variables.
    pub descriptor: Option<[f32; 4]>,
    /// The cell of the archive that it falls into.
    pub cell: Option<u32>,
    /// What it came from.
    pub parents: Vec<(ProblemId, ParentRelation)>,
}

/// What an earlier problem is to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentRelation {
    /// Shown to the proposer as an example to differ from (Absolute Zero).
    Reference,
    /// The hard problem that a lemma was made for (GASP).
    Goalpost,
    /// The lemma that a lift was made from (GASP).
    Lemma,
}

impl ParentRelation {
    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Goalpost => "goalpost",
            Self::Lemma => "lemma",
        }
    }
}

/// How a problem fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemOutcomeRecord {
    /// The problem.
    pub problem: ProblemId,
    /// Share of the attempts that solved it; none where it was not attempted.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: u32,
    /// What its proposer got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    pub reward_parts: serde_json::Value,
}

/// One answer of one member to a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The attempt.
    pub id: AttemptId,
    /// The problem.
    pub problem: ProblemId,
    /// Who answered, by which weights.
    pub solver: (MemberId, VersionId),
    /// What it played.
    pub role: Role,
    /// Which of the samples, from 0.
    pub sample: u32,
    /// What it answered, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// Whether the answer has the form that was asked for.
    pub well_formed: bool,
    /// What the verifier met.
    pub status: Status,
    /// The same, said to a person.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// What it got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: u32,
}

/// Who won a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The teacher.
    Teacher,
    /// The student.
    Student,
}

/// A teacher's meeting with a student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchupRecord {
    /// The matchup.
    pub id: MatchupId,
    /// Who proposed.
    pub teacher: MemberId,
    /// Who solved.
    pub student: MemberId,
    /// Problems proposed.
    pub proposed: u32,
    /// Those that were valid.
    pub valid: u32,
    /// Mean solve rate over the valid ones; none where there is none.
    pub solve_rate: Option<f32>,
    /// Probability of the student's winning, as the ratings before the matchup predict.
    pub predicted: f32,
    /// Who won.
    pub winner: Winner,
}

/// A rating (TrueSkill) of a member in a role after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingRecord {
    /// The member.
    pub member: MemberId,
    /// The role.
    pub role: Role,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// A birth: parents' exact versions, operator and seed, from which it can be replayed to the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BirthRecord {
    /// The child.
    pub child: MemberId,
    /// The item of work that made it.
    pub source: WorkKey,
    /// `init`, or an operator of the catalogue.
    pub operator: String,
    /// All values of its parameters.
    pub parameters: serde_json::Value,
    /// The seed of its draws.
    pub seed: u64,
    /// The parents' versions, in the operator's order.
    pub parents: Vec<VersionId>,
    /// Whose place the child takes.
    pub replaces: Option<MemberId>,
    /// What the operator met.
    pub notes: Vec<String>,
}

/// A death.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeathRecord {
    /// Who died.
    pub member: MemberId,
    /// Why, such as `culled: lower bound 17.2, rank 4 of 4`.
    pub cause: String,
}

/// What an insertion did to its cell. The words are those of pyribs' `AddStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertionStatus {
    /// The cell was empty.
    New,
    /// The problem is better than the cell's elite.
    Improve,
}

impl InsertionStatus {
    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Improve => "improve",
        }
    }
}

/// A problem that entered the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveInsertionRecord {
    /// The cell.
    pub cell: u32,
    /// The problem, now the cell's elite.
    pub problem: ProblemId,
    /// What it did.
    pub status: InsertionStatus,
    /// By what elites are compared.
    pub objective: f32,
}

/// Metrics of a step, of one member or of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// The member; none for the run.
    pub member: Option<MemberId>,
    /// Values in the order of [`Recipe::metrics`](super::Recipe::metrics); NaN where there is none.
    pub values: Vec<f64>,
}

/// What a subject of an evaluation came to on a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResultRecord {
    /// The suite.
    pub suite: String,
    /// Which subject of the evaluation it is, from 0.
    pub subject: u32,
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: SubjectRole,
    /// The run that it belongs to.
    pub run: Option<ExecutionId>,
    /// The member of it.
    pub member: Option<MemberId>,
    /// Its exact weights.
    pub version: Option<VersionId>,
    /// Steps of the run that they have seen.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The rows.
    pub dataset: DatasetId,
    /// How it was asked.
    pub protocol: serde_json::Value,
    /// Samples a row.
    pub n: u32,
    /// Samples and right ones, row by row.
    pub score: Score,
    /// The same by the tests of the base benchmark alone, where they are counted apart.
    pub base: Option<Score>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Time that generation took, over all its items, in seconds.
    pub seconds: f64,
}

/// A graded sample of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSampleRecord {
    /// The suite.
    pub suite: String,
    /// Which subject of the evaluation made it, from 0.
    pub subject: u32,
    /// The task.
    pub task_id: String,
    /// The sample.
    pub sample: BenchmarkSample,
    /// What its verdict says.
    pub graded: Graded,
}
