//! Rows written by a plan, for people to look at.

mod problem;

pub use self::problem::{
    AttemptRecord, BenchmarkResultRecord, BenchmarkSampleRecord, DatasetCheckRecord, GoalpostCountRecord,
    HeldOutRecord, ParentRelation, ProblemOutcomeRecord, ProblemRecord, RowAnswersRecord,
};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

use super::Role;
use crate::artifact::Digest;
use crate::id::{ExecutionId, MatchupId, MemberId, PopulationId, ProblemId, VersionId};
use crate::work::{BaseModel, LoraShape, PairGeometry, VersionGeometry, WorkKey};

/// Rows by table. Writing a row again changes nothing.
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
    /// Outcomes of problems, once attempted.
    pub outcomes: Vec<ProblemOutcomeRecord>,
    /// New attempts.
    pub attempts: Vec<AttemptRecord>,
    /// Decided matchups.
    pub matchups: Vec<MatchupRecord>,
    /// Ratings after a step.
    pub ratings: Vec<RatingRecord>,
    pub births: Vec<BirthRecord>,
    pub deaths: Vec<DeathRecord>,
    /// Geometry of members' weights.
    #[serde(default)]
    pub geometry: Vec<GeometryRecord>,
    /// Insertions into the archive.
    pub insertions: Vec<ArchiveInsertionRecord>,
    pub metrics: Vec<MetricRecord>,
    /// Answers to rows of a dataset, counted by row.
    #[serde(default)]
    pub row_answers: Vec<RowAnswersRecord>,
    /// Measurements on held-out rows.
    #[serde(default)]
    pub held_out: Vec<HeldOutRecord>,
    /// Results of an evaluation's subjects on a suite.
    #[serde(default)]
    pub benchmark_results: Vec<BenchmarkResultRecord>,
    /// The samples behind them.
    #[serde(default)]
    pub benchmark_samples: Vec<BenchmarkSampleRecord>,
    /// Counts of attempts at goalposts.
    #[serde(default)]
    pub goalpost_counts: Vec<GoalpostCountRecord>,
    /// What the check of a dataset found.
    #[serde(default)]
    pub dataset_checks: Vec<DatasetCheckRecord>,
    /// The run and step that an evaluation's attempts are recorded for; `None` in a run, whose attempts are its own.
    #[serde(default)]
    pub attempts_of: Option<(ExecutionId, u32)>,
}

impl Records {
    /// Drops rows already in `seen`, and adds the others to it. A recipe returns everything that should exist each time
    /// it plans; this avoids sending earlier rows to the database again. `seen` belongs to one step: ratings,
    /// archive insertions, metrics and the like are identified by their subject.
    pub fn retain_new(&mut self, seen: &mut HashSet<(&'static str, Uuid)>) {
        self.populations.retain(|row| seen.insert(("population", row.id.0)));
        self.members.retain(|row| seen.insert(("member", row.id.0)));
        self.versions.retain(|row| seen.insert(("version", row.id.0)));
        self.problems.retain(|row| seen.insert(("problem", row.id.0)));
        self.outcomes.retain(|row| seen.insert(("outcome", row.problem.0)));
        self.attempts.retain(|row| seen.insert(("attempt", row.id.0)));
        self.matchups.retain(|row| seen.insert(("matchup", row.id.0)));
        self.births.retain(|row| seen.insert(("birth", row.child.0)));
        self.geometry.retain(|row| seen.insert(("geometry", row.of.version.0)));
        self.deaths.retain(|row| seen.insert(("death", row.member.0)));
        self.ratings.retain(|row| seen.insert((row.role.name(), row.member.0)));
        self.insertions.retain(|row| seen.insert(("insertion", row.problem.0)));
        self.metrics.retain(|row| seen.insert(("metrics", row.member.map_or(Uuid::nil(), |member| member.0))));
        self.row_answers.retain(|row| seen.insert(("row answers", row.problem.0)));
        self.held_out.retain(|row| seen.insert(("held out", row.solver.0.0)));
        self.dataset_checks.retain(|row| seen.insert(("dataset check", row.dataset.0)));
    }

    /// Adds the rows of another plan.
    pub fn extend(&mut self, other: Self) {
        self.populations.extend(other.populations);
        self.members.extend(other.members);
        self.versions.extend(other.versions);
        self.problems.extend(other.problems);
        self.outcomes.extend(other.outcomes);
        self.attempts.extend(other.attempts);
        self.matchups.extend(other.matchups);
        self.births.extend(other.births);
        self.deaths.extend(other.deaths);
        self.geometry.extend(other.geometry);
        self.ratings.extend(other.ratings);
        self.insertions.extend(other.insertions);
        self.metrics.extend(other.metrics);
        self.row_answers.extend(other.row_answers);
        self.held_out.extend(other.held_out);
        self.benchmark_results.extend(other.benchmark_results);
        self.benchmark_samples.extend(other.benchmark_samples);
        self.goalpost_counts.extend(other.goalpost_counts);
        self.dataset_checks.extend(other.dataset_checks);
        self.attempts_of = other.attempts_of.or(self.attempts_of);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Members of a run that share a base model and an adapter shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationRecord {
    pub id: PopulationId,
    /// Its name in the config.
    pub name: String,
    /// Its frozen base.
    pub base_model: BaseModel,
    /// The shape of its adapters.
    pub lora: LoraShape,
}

/// One adapter of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberRecord {
    pub id: MemberId,
    pub population: PopulationId,
    /// Its name, such as `teacher-2`.
    pub name: String,
    pub roles: Vec<Role>,
}

/// The weights of a member after a birth or an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub id: VersionId,
    pub member: MemberId,
    /// 0 at birth, incremented by each update.
    pub ordinal: u32,
    /// Its PEFT folder.
    pub artifact: Digest,
    /// Its optimizer state, if it has one.
    pub optimizer: Option<Digest>,
    /// The member's own learning rate; `None` for the optimizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
}

/// A birth: the parents' exact versions, the operator and the seed, from which it can be replayed to the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BirthRecord {
    pub child: MemberId,
    /// The work item that made it.
    pub source: WorkKey,
    /// `init`, or an operator of the catalogue.
    pub operator: String,
    /// The values of all its parameters.
    pub parameters: serde_json::Value,
    /// The seed of its draws.
    pub seed: u64,
    /// The parents' versions, in the operator's order.
    pub parents: Vec<VersionId>,
    /// The member that the child replaces.
    pub replaces: Option<MemberId>,
    /// Notes by the operator.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeathRecord {
    /// The member that died.
    pub member: MemberId,
    /// The reason, such as `culled: lower bound 17.2, rank 4 of 4`.
    pub cause: String,
}

/// A version's geometry at the end of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeometryRecord {
    pub member: MemberId,
    /// The version by itself.
    #[serde(flatten)]
    pub of: VersionGeometry,
    /// Its pairs with other versions, each listed with one of the two.
    pub pairs: Vec<PairGeometry>,
}

/// The winner of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Winner {
    Teacher,
    Student,
}

crate::named!(Winner, "a winner");

/// A match between a teacher and a student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchupRecord {
    pub id: MatchupId,
    /// The proposer.
    pub teacher: MemberId,
    /// The solver.
    pub student: MemberId,
    /// Problems proposed.
    pub proposed: u32,
    /// How many were valid.
    pub valid: u32,
    /// Mean solve rate over the valid problems; `None` if there are none.
    pub solve_rate: Option<f32>,
    /// The student's score, which is compared with `predicted`; `None` in records made before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student_score: Option<f32>,
    /// The teacher's mean reward (Eq. 2) over all proposals; `None` in records made before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher_reward: Option<f32>,
    /// The student's win probability, predicted from the ratings before the matchup.
    pub predicted: f32,
    pub winner: Winner,
}

/// A rating (TrueSkill) of a member in a role after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingRecord {
    pub member: MemberId,
    pub role: Role,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// The effect of an insertion on its cell. Names are those of pyribs' `AddStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InsertionStatus {
    /// The cell was empty.
    New,
    /// The problem is better than the cell's elite.
    Improve,
}

crate::named!(InsertionStatus, "an effect of an insertion");

/// A problem's insertion into the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveInsertionRecord {
    pub cell: u32,
    /// The problem, now the cell's elite.
    pub problem: ProblemId,
    /// Its effect.
    pub status: InsertionStatus,
    /// The value by which elites are compared.
    pub objective: f32,
}

/// Metrics of a step, of one member or of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// The member; `None` for the run.
    pub member: Option<MemberId>,
    /// Values in the order of [`Recipe::metrics`](super::Recipe::metrics); NaN if there is no value.
    pub values: Vec<f64>,
    /// Means of the parts of rewards, by the names that rewards give them: metrics whose names begin with
    /// [`REWARD_PART`](super::REWARD_PART).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reward_parts: BTreeMap<String, f64>,
}
