//! Rows written by a plan, for people to look at.

mod archive;
mod attempt;
mod benchmark;
mod dataset_check;
mod geometry;
mod goalpost;
mod held_out;
mod lineage;
mod matchup;
mod member;
mod metric;
mod problem;
mod row_answers;

pub use self::{
    archive::{ArchiveInsertionRecord, InsertionStatus},
    attempt::AttemptRecord,
    benchmark::{BenchmarkResultRecord, BenchmarkSampleRecord},
    dataset_check::DatasetCheckRecord,
    geometry::GeometryRecord,
    goalpost::GoalpostCountRecord,
    held_out::HeldOutRecord,
    lineage::{BirthRecord, DeathRecord},
    matchup::{MatchupRecord, RatingRecord, Winner},
    member::{MemberRecord, PopulationRecord, VersionRecord},
    metric::MetricRecord,
    problem::{ParentRelation, ProblemOutcomeRecord, ProblemRecord},
    row_answers::RowAnswersRecord,
};

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use uuid::Uuid;

use crate::id::ExecutionId;

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
    /// Births.
    pub births: Vec<BirthRecord>,
    /// Deaths.
    pub deaths: Vec<DeathRecord>,
    /// Geometry of members' weights.
    #[serde(default)]
    pub geometry: Vec<GeometryRecord>,
    /// Insertions into the archive.
    pub insertions: Vec<ArchiveInsertionRecord>,
    /// Metrics of a step.
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
    /// it is asked; this avoids sending earlier rows to the database again. `seen` belongs to one step: ratings,
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
        self.metrics
            .retain(|row| seen.insert(("metrics", row.member.map_or(Uuid::nil(), |member| member.0))));
        self.row_answers
            .retain(|row| seen.insert(("row answers", row.problem.0)));
        self.held_out.retain(|row| seen.insert(("held out", row.solver.0.0)));
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
