//! The result of an evaluation of goalposts: how many problems each subject solved. Counts by problem are rows of their own.

use serde::{Deserialize, Serialize};

use crate::{
    csv::Csv,
    evaluations::{GoalpostParameters, GoalpostSubject},
    id::{DatasetId, ExecutionId, MemberId, VersionId},
};

/// How many problems each subject solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostsResult {
    /// The problems.
    pub dataset: DatasetId,
    /// How many there are.
    pub problems: u32,
    /// Attempts of each subject at each problem.
    pub n: u32,
    /// The subjects that have attempted problems.
    pub subjects: Vec<GoalpostsMeasured>,
}

/// What a subject solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostsMeasured {
    /// The model's name.
    pub name: String,
    pub run: Option<ExecutionId>,
    /// The member of that run.
    pub member: Option<MemberId>,
    /// The exact weights; none for a base.
    pub version: Option<VersionId>,
    /// Finished steps of the run when the member had these weights; of a control, those of its checkpoint.
    pub step: Option<u32>,
    /// Whether it is the untrained base in place of a checkpoint.
    pub control: bool,
    /// Problems solved at least once.
    pub solved: u32,
    /// Attempts made so far.
    pub attempts: u64,
    /// Attempts that solved their problem.
    pub correct: u64,
}

/// What is remembered of a subject between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    solved: u32,
    attempts: u64,
    correct: u64,
}

impl Tally {
    /// Adds the correct attempts at some problems, of `n` each.
    pub(super) fn add(&mut self, correct: &[u32], n: u32) {
        self.solved += correct.iter().filter(|&&count| count > 0).count() as u32;
        self.attempts += u64::from(n) * correct.len() as u64;
        self.correct += correct.iter().map(|&count| u64::from(count)).sum::<u64>();
    }
}

impl GoalpostsResult {
    pub(super) fn new(parameters: &GoalpostParameters, tallies: &[Tally]) -> Self {
        let tried = parameters.subjects.iter().zip(tallies);
        let tried = tried.filter(|(_, tally)| tally.attempts > 0);
        Self {
            dataset: parameters.problems.dataset,
            problems: parameters.problems.rows,
            n: parameters.n,
            subjects: tried.map(|(of, tally)| measured(of, *tally)).collect(),
        }
    }
}

impl GoalpostsResult {
    /// A line for each subject.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(&[
            "name", "run", "step", "control", "problems", "solved", "attempts", "correct",
        ]);
        for subject in &self.subjects {
            csv.row(&[
                subject.name.clone(),
                subject.run.map(|run| run.to_string()).unwrap_or_default(),
                subject.step.map(|step| step.to_string()).unwrap_or_default(),
                subject.control.to_string(),
                self.problems.to_string(),
                subject.solved.to_string(),
                subject.attempts.to_string(),
                subject.correct.to_string(),
            ]);
        }
        csv.into_text()
    }
}

fn measured(of: &GoalpostSubject, tally: Tally) -> GoalpostsMeasured {
    let subject = &of.subject;
    GoalpostsMeasured {
        name: subject.name.clone(),
        run: subject.run,
        member: subject.member,
        version: subject.adapter.map(|adapter| adapter.version),
        step: subject.step,
        control: of.control,
        solved: tally.solved,
        attempts: tally.attempts,
        correct: tally.correct,
    }
}
