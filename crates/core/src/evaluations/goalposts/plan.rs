//! Plans an evaluation of goalposts: exact rows and exact weights, one subject and some of the problems a step.

use serde::{Deserialize, Serialize};

use super::result::Tally;
use crate::benchmark::{BenchmarkRow, PromptStyle, Suite, suite};
use crate::config::RunConfig;
use crate::contract::{BenchmarkSampleRecord, GoalpostCountRecord, Plan, PlanError, RunState, StepView};
use crate::evaluations::benchmark::EvaluationSet;
use crate::evaluations::{BenchmarkSubject, GoalpostsResult, SuiteSlice, read};
use crate::fault::{Fault, Faults};
use crate::seed::derive;
use crate::work::Compute;

/// Who attempts which problems, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalpostParameters {
    /// The problems and their protocol; the suite is one with rows like these.
    pub problems: SuiteSlice,
    /// Attempts of each subject at each problem.
    pub n: u32,
    /// Who attempts them.
    pub subjects: Vec<GoalpostSubject>,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
    /// Maximum number of samples of one item, unless those of a single row are more.
    pub samples_per_item: u32,
    /// Maximum number of samples of one step, unless those of a single row are more.
    pub samples_per_step: u32,
}

/// A checkpoint, or its control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalpostSubject {
    /// The model. A control has the run, member and step of its checkpoint, and no adapter.
    pub subject: BenchmarkSubject,
    /// Whether it is the untrained base in place of a checkpoint.
    pub control: bool,
}

impl GoalpostSubject {
    /// Names the subject's draws, which differ from those of all others.
    fn path(&self) -> String {
        let BenchmarkSubject { run, member, step, .. } = &self.subject;
        let run = run.map(|run| run.to_string()).unwrap_or_default();
        let member = member.map(|member| member.0.to_string()).unwrap_or_default();
        let step = step.map(|step| step.to_string()).unwrap_or_default();
        let who = if self.control { "control" } else { "checkpoint" };
        format!("goalposts/{}/{run}/{member}/{step}/{who}", self.subject.base_model.name)
    }
}

impl GoalpostParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let parameters: Self = read(config)?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if parameters.subjects.is_empty() {
            fault("subjects", "there is no checkpoint to attempt them".to_owned());
        }
        if parameters.n == 0 || parameters.samples_per_item == 0 {
            fault("n", "0 attempts: 1 is the least".to_owned());
        }
        for misfit in parameters.problems.misfits(parameters.n) {
            fault("problems", misfit);
        }
        Faults(faults).or(parameters)
    }

    fn rows_per_step(&self) -> u32 {
        (self.samples_per_step / self.n.max(1)).clamp(1, self.problems.rows.max(1))
    }

    /// Steps of a subject.
    fn slices(&self) -> u32 {
        self.problems.rows.div_ceil(self.rows_per_step()).max(1)
    }

    pub(super) fn steps(&self) -> u32 {
        self.slices() * self.subjects.len() as u32
    }

    /// The stage of a step: who attempts.
    pub(super) fn stage(&self, step: u32) -> String {
        let subject = self.subjects.get((step / self.slices()) as usize);
        subject.map(|of| of.subject.name.clone()).unwrap_or_default()
    }
}

/// The name under which solving attempts are kept among samples of evaluations.
const SAMPLES: &str = "goalposts";

pub(super) struct GoalpostStep<'a> {
    run: &'a RunState,
    parameters: &'a GoalpostParameters,
    view: &'a StepView,
    suite: &'static Suite,
    style: PromptStyle,
    /// What earlier steps counted.
    tallies: Vec<Tally>,
    /// The place of the subject.
    place: u32,
    of: &'a GoalpostSubject,
    /// The first problem of the step, and how many there are.
    first: u32,
    rows: u32,
}

impl<'a> GoalpostStep<'a> {
    pub(super) fn new(
        run: &'a RunState,
        parameters: &'a GoalpostParameters,
        view: &'a StepView,
        tallies: Vec<Tally>,
    ) -> Result<Self, PlanError> {
        let other = |error: &dyn std::fmt::Display| PlanError::Other(error.to_string());
        let (slices, problems) = (parameters.slices(), &parameters.problems);
        let place = run.step / slices;
        let of = parameters.subjects.get(place as usize);
        let first = run.step % slices * parameters.rows_per_step();
        Ok(Self {
            run,
            parameters,
            view,
            suite: suite(&problems.suite).map_err(|error| other(&error))?,
            style: PromptStyle::shipped(&problems.protocol.prompts).map_err(|error| other(&error))?,
            place,
            tallies,
            of: of.ok_or_else(|| other(&format!("there is nobody for step {}", run.step)))?,
            first,
            rows: parameters.rows_per_step().min(problems.rows - first),
        })
    }

    /// Everything that should exist by now.
    pub(super) fn plan(&self) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        let set = self.evaluation_set();
        match set.fill(&mut plan)? {
            Some(rows) => self.finish(&set, &rows, plan),
            None => Ok(plan),
        }
    }

    fn evaluation_set(&self) -> EvaluationSet<'_> {
        let (parameters, protocol) = (self.parameters, &self.parameters.problems.protocol);
        EvaluationSet {
            view: self.view,
            step: self.run.step,
            suite: &self.suite.name,
            dataset: parameters.problems.dataset,
            first: self.first,
            rows: self.rows,
            n: parameters.n,
            per_item: (parameters.samples_per_item / parameters.n.max(1)).max(1),
            style: &self.style,
            sampling: protocol.sampling(self.style.stops(self.suite)),
            compute: parameters.compute,
            limits: self.run.config.programs,
            plain_notation: protocol.plain_notation,
            // Fresh draws for everybody: the union over checkpoints must not be one set of draws counted often.
            subjects: vec![(&self.of.subject, derive(self.run.config.seed, &self.of.path(), 0))],
        }
    }

    /// All attempts are graded: the counts, the attempts that solved something, and what comes next.
    fn finish(&self, set: &EvaluationSet<'_>, rows: &[BenchmarkRow], mut plan: Plan) -> Result<Plan, PlanError> {
        let subject = &self.of.subject;
        let mut correct = vec![0; rows.len()];
        let (mut completion_tokens, mut seconds) = (0, 0.0);
        for answers in set.answers(rows)? {
            completion_tokens += answers.result.usage.completion_tokens;
            seconds += answers.result.usage.seconds;
            for (sample, graded) in answers.graded.into_iter().filter(|(_, graded)| graded.correct) {
                let row = (sample.row - self.first) as usize;
                correct[row] += 1;
                plan.records.benchmark_samples.push(BenchmarkSampleRecord {
                    suite: SAMPLES.to_owned(),
                    subject: self.place,
                    task_id: rows[row].task_id.clone(),
                    sample: sample.clone(),
                    graded,
                });
            }
        }
        let mut tallies = self.tallies.clone();
        if let Some(tally) = tallies.get_mut(self.place as usize) {
            tally.add(&correct, self.parameters.n);
        }
        plan.records.goalpost_counts.push(GoalpostCountRecord {
            subject: self.place,
            name: subject.name.clone(),
            control: self.of.control,
            run: subject.run,
            member: subject.member,
            version: subject.adapter.map(|adapter| adapter.version),
            step: subject.step,
            base_model: subject.base_model.name.clone(),
            dataset: self.parameters.problems.dataset,
            first_row: self.first,
            n: self.parameters.n,
            correct,
            completion_tokens,
            seconds,
        });
        plan.result = Some(serde_json::to_value(GoalpostsResult::new(self.parameters, &tallies))?);
        plan.finish = Some(self.run.next(self.parameters.stage(self.run.step + 1), &tallies)?);
        Ok(plan)
    }
}
