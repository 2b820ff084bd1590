//! Evaluations of type `majority_vote`: versions answer each row of mathematics several times, and the largest group of equal
//! answers is their answer (maj@n: Wang et al. 2022, arXiv 2203.11171; Lewkowycz et al. 2022, arXiv 2206.14858).
//!
//! Equal answers are grouped by Math-Verify, as grading compares them. Of groups of the same size, the one whose first answer
//! came first wins; an answer that cannot be read votes for nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::benchmark::{Answers, SuiteStep};
use super::{BenchmarkParameters, SuiteSlice};
use crate::artifact::Digest;
use crate::benchmark::format::Format;
use crate::benchmark::{Spread, Subject, suite};
use crate::config::RunConfig;
use crate::contract::{self, BenchmarkSampleRecord, Plan, PlanError, RunState, StepView, WorkItem};
use crate::fault::{Fault, Faults};
use crate::verify::{Check, Task};
use crate::vote::Vote;
use crate::work::{Payload, ProgramLimits, Requirements, VerifyPayload, WorkKey};

/// The planner of evaluations of type `majority_vote`, a suite a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct MajorityVoteEvaluation;

/// What an evaluation of type `majority_vote` found, by suite and version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MajorityVoteResult {
    pub votes: Vec<Voted>,
}

/// How a version does on a suite by majority.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Voted {
    pub subject: Subject,
    pub suite: String,
    /// Rows.
    pub rows: u32,
    /// Answers to each row.
    pub n: u32,
    /// maj@n: the share of rows whose largest group of equal answers is right.
    pub majority: f64,
    /// Its standard error over the rows.
    pub majority_error: f64,
    /// pass@1: the share of right answers.
    pub pass_at_1: f64,
    /// Its standard error over the rows.
    pub pass_at_1_error: f64,
    /// The mean share of a row's answers in its largest group, right or wrong.
    pub agreement: f64,
}

impl contract::TypedPlanner for MajorityVoteEvaluation {
    type Parameters = BenchmarkParameters;
    type Memory = Vec<Voted>;

    const NAME: &'static str = "evaluation/majority_vote";
    const SUMMARY: &'static str = "How good is the majority of a member's answers to a question?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters = BenchmarkParameters::read(&config)?;
        let faults = parameters.suites.iter().enumerate().flat_map(|(at, slice)| {
            let misfits = misfits(slice, parameters.n);
            misfits.map(move |detail| Fault::new(format!("/spec/suites/{at}"), detail))
        });
        config.steps = parameters.suites.len() as u32;
        Faults(faults.collect()).or(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &BenchmarkParameters) -> Vec<Voted> {
        Vec::new()
    }

    fn first_stage(&self, parameters: &BenchmarkParameters) -> String {
        stage(parameters, 0)
    }

    fn held(&self, parameters: &BenchmarkParameters) -> Result<Vec<Digest>, PlanError> {
        contract::TypedPlanner::held(&super::BenchmarkEvaluation, parameters)
    }

    fn size(&self, parameters: &BenchmarkParameters) -> Option<(u64, u64)> {
        contract::TypedPlanner::size(&super::BenchmarkEvaluation, parameters)
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &BenchmarkParameters,
        mut voted: Vec<Voted>,
    ) -> Result<Plan, PlanError> {
        let step = SuiteStep::new(run, parameters, view, Vec::new())?;
        let set = step.evaluation_set();
        let mut plan = Plan::default();
        let Some(rows) = set.fill(&mut plan)? else { return Ok(plan) };
        let mut tallies = vec![Tally::default(); parameters.subjects.len()];
        for (chunk, answers) in (0..).zip(set.answers(&rows)?) {
            let key = WorkKey::new(run.step, "vote").chunk(chunk);
            let ballots = ballots(&answers);
            let clusters = match view.verify(&key)? {
                Some(result) => result.verdicts.iter().map(|verdict| verdict.clusters.as_deref()).collect(),
                None if ballots.values().all(|ballot| ballot.task(0).is_none()) => Vec::new(),
                None => {
                    if !view.work.contains_key(&key) {
                        plan.work.push(item(key, &ballots, run.config.programs));
                    }
                    continue;
                }
            };
            let mut clusters = clusters.into_iter();
            for ballot in ballots.values() {
                let found = ballot.task(0).and_then(|_| clusters.next().flatten());
                tallies[answers.subject].add(ballot, found.unwrap_or_default());
            }
            for (sample, graded) in answers.graded {
                plan.records.benchmark_samples.push(BenchmarkSampleRecord {
                    suite: step.slice.name().to_owned(),
                    subject: answers.subject as u32,
                    task_id: rows[sample.row as usize].task_id.clone(),
                    sample: sample.clone(),
                    graded,
                });
            }
        }
        let counted: usize = tallies.iter().map(|tally| tally.majority.len()).sum();
        if counted < rows.len() * parameters.subjects.len() {
            plan.records.benchmark_samples.clear();
            return Ok(plan);
        }
        for (subject, tally) in parameters.subjects.iter().zip(&tallies) {
            let subject = Subject {
                name: subject.name.clone(),
                role: subject.role,
                member: subject.member.map(|member| member.0),
            };
            voted.extend(tally.voted(subject, step.slice, step.n));
        }
        let next = run.next(stage(parameters, run.step as usize + 1), &voted)?;
        if next.completed {
            plan.result = Some(serde_json::to_value(MajorityVoteResult { votes: voted })?);
        }
        plan.finish = Some(next);
        Ok(plan)
    }
}

fn stage(parameters: &BenchmarkParameters, step: usize) -> String {
    let slice = parameters.suites.get(step);
    slice.map(|slice| slice.name().to_owned()).unwrap_or_default()
}

/// Why there can be no vote on a suite, of `n` answers unless it has a number of its own.
fn misfits(slice: &SuiteSlice, n: u32) -> impl Iterator<Item = String> + use<> {
    let n = slice.n.unwrap_or(n);
    let few = (n < 3).then(|| format!("{n} answers to a row: a majority needs at least 3"));
    let is_code = suite(&slice.suite).is_ok_and(|suite| !matches!(suite.format, Format::Math { .. }));
    let code = is_code.then(|| {
        format!(
            "`{}` asks for programs, which cannot be grouped by what they mean: suites of mathematics are valid",
            slice.suite
        )
    });
    few.into_iter().chain(code)
}

/// The answers to a row, in the order of the samples: what each says, if it can be read, and whether that is right.
#[derive(Default)]
struct Ballot<'a>(Vec<(Option<&'a str>, bool)>);

impl Ballot<'_> {
    /// The task that groups the answers that can be read; `None` if none can.
    fn task(&self, row: u32) -> Option<Task> {
        let answers: Vec<String> = self.0.iter().filter_map(|(answer, _)| answer.map(str::to_owned)).collect();
        let is_readable = !answers.is_empty();
        let task = Task { id: row.to_string(), check: Check::Cluster(answers) };
        is_readable.then_some(task)
    }
}

/// The ballots of the rows of a chunk.
fn ballots<'a>(answers: &Answers<'a>) -> BTreeMap<u32, Ballot<'a>> {
    let mut ballots: BTreeMap<u32, Ballot<'a>> = BTreeMap::new();
    for (sample, graded) in &answers.graded {
        let ballot = ballots.entry(sample.row).or_default();
        ballot.0.push((sample.solution.as_deref(), graded.correct));
    }
    ballots
}

fn item(key: WorkKey, ballots: &BTreeMap<u32, Ballot<'_>>, limits: ProgramLimits) -> WorkItem {
    let tasks = ballots.iter().filter_map(|(row, ballot)| ballot.task(*row)).collect();
    WorkItem { key, payload: Payload::Verify(VerifyPayload::new(tasks, limits)), requirements: Requirements::default() }
}

/// By row: whether the majority is right, the share of right answers, and that of the largest group.
#[derive(Clone, Default)]
struct Tally {
    majority: Vec<f64>,
    right: Vec<f64>,
    agreement: Vec<f64>,
}

impl Tally {
    /// Counts a row; `clusters` has the group of each answer that can be read.
    fn add(&mut self, ballot: &Ballot<'_>, clusters: &[Option<u32>]) {
        let mut clusters = clusters.iter().copied();
        let groups: Vec<Option<u32>> =
            ballot.0.iter().map(|(answer, _)| answer.and_then(|_| clusters.next().flatten())).collect();
        let vote = Vote::of(&groups);
        let is_right = vote.is_some_and(|vote| ballot.0[vote.label].1);
        let right = ballot.0.iter().filter(|(_, is_right)| *is_right).count();
        self.majority.push(f64::from(u8::from(is_right)));
        self.right.push(right as f64 / ballot.0.len() as f64);
        let share = |vote: Vote| f64::from(vote.count) / f64::from(vote.of);
        self.agreement.push(vote.map_or(0.0, share));
    }

    fn voted(&self, subject: Subject, slice: &SuiteSlice, n: u32) -> Option<Voted> {
        let [majority, right] = [&self.majority, &self.right].map(|values| Spread::of(values));
        let (majority, right) = (majority?, right?);
        Some(Voted {
            subject,
            suite: slice.name().to_owned(),
            rows: self.majority.len() as u32,
            n,
            majority: majority.mean,
            majority_error: majority.standard_error,
            pass_at_1: right.mean,
            pass_at_1_error: right.standard_error,
            agreement: Spread::of(&self.agreement)?.mean,
        })
    }
}
