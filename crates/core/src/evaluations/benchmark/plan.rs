//! Plans a benchmark evaluation: exact rows and exact weights, one suite a step.

use serde::{Deserialize, Serialize};

use super::EvaluationSet;
use crate::benchmark::{
    BenchmarkRow, Cell, Graded, PromptStyle, Protocol, Score, Subject, SubjectRole, Suite, Table, suite,
};
use crate::config::RunConfig;
use crate::contract::{BenchmarkResultRecord, BenchmarkSampleRecord, Plan, PlanError, RunState, StepView};
use crate::evaluations::read;
use crate::fault::{Fault, Faults};
use crate::id::{DatasetId, ExecutionId, MemberId};
use crate::seed::derive;
use crate::work::{AdapterRef, BaseModel, BenchmarkResult, BenchmarkSample, Compute};

/// What is measured, on what, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkParameters {
    /// The suites, each of them a step.
    pub suites: Vec<SuiteSlice>,
    /// A model whose answers are measured.
    pub subjects: Vec<BenchmarkSubject>,
    /// Samples a row.
    pub n: u32,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
    /// Maximum number of samples that one item generates, unless those of a single row are more.
    pub samples_per_item: u32,
}

/// Rows of a suite and the protocol of their prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSlice {
    pub suite: String,
    /// The name of its results, if not the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The imported rows.
    pub dataset: DatasetId,
    /// The number of rows, from the first.
    pub rows: u32,
    /// Samples a row, if not those of the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// Prompts, sampling and extraction.
    pub protocol: Protocol,
}

impl SuiteSlice {
    /// The name of its results.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.suite)
    }

    /// Why its rows cannot be answered in `n` samples each.
    pub(crate) fn misfits(&self, n: u32) -> Vec<String> {
        let mut found = Vec::new();
        if self.rows == 0 {
            found.push(format!("`{}` has no rows", self.suite));
        }
        found.extend(self.protocol.misfit(n));
        match (suite(&self.suite), PromptStyle::shipped(&self.protocol.prompts)) {
            (Ok(suite), Ok(style)) => found.extend(style.misfit(suite)),
            (suite, style) => {
                found.extend(suite.err().map(|error| error.to_string()));
                found.extend(style.err().map(|error| error.to_string()));
            }
        }
        found
    }
}

/// A model whose answers are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSubject {
    /// The name shown to people.
    pub name: String,
    pub role: SubjectRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ExecutionId>,
    /// The member of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberId>,
    /// Steps of the run that its weights have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The adapter; none is the base without an adapter, or a merged model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterRef>,
}

impl BenchmarkParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(in crate::evaluations) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let parameters: Self = read(config)?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if parameters.suites.is_empty() {
            fault("suites", "there is no suite to measure with".to_owned());
        }
        if parameters.subjects.is_empty() {
            fault("subjects", "there is nobody to measure".to_owned());
        }
        let is_none = |slice: &SuiteSlice| slice.n == Some(0);
        if parameters.n == 0 || parameters.samples_per_item == 0 || parameters.suites.iter().any(is_none) {
            fault("n", "0 samples: 1 is the least".to_owned());
        }
        for (at, slice) in parameters.suites.iter().enumerate() {
            for misfit in slice.misfits(slice.n.unwrap_or(parameters.n)) {
                fault(&format!("suites/{at}"), misfit);
            }
        }
        Faults(faults).or(parameters)
    }
}

/// What is remembered of a suite that is done: a cell of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scored {
    subject: Subject,
    suite: String,
    cell: Cell,
}

pub(in crate::evaluations) struct SuiteStep<'a> {
    run: &'a RunState,
    parameters: &'a BenchmarkParameters,
    view: &'a StepView,
    suite: &'static Suite,
    pub(in crate::evaluations) slice: &'a SuiteSlice,
    /// The suites of earlier steps.
    scored: Vec<Scored>,
    style: PromptStyle,
    /// Samples a row.
    pub(in crate::evaluations) n: u32,
}

impl<'a> SuiteStep<'a> {
    pub(in crate::evaluations) fn new(
        run: &'a RunState,
        parameters: &'a BenchmarkParameters,
        view: &'a StepView,
        scored: Vec<Scored>,
    ) -> Result<Self, PlanError> {
        let other = |error: &dyn std::fmt::Display| PlanError::Other(error.to_string());
        let slice = parameters
            .suites
            .get(run.step as usize)
            .ok_or_else(|| other(&format!("there is no suite for step {}", run.step)))?;
        Ok(Self {
            run,
            parameters,
            view,
            suite: suite(&slice.suite).map_err(|error| other(&error))?,
            style: PromptStyle::shipped(&slice.protocol.prompts).map_err(|error| other(&error))?,
            slice,
            scored,
            n: slice.n.unwrap_or(parameters.n),
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

    pub(in crate::evaluations) fn evaluation_set(&self) -> EvaluationSet<'_> {
        let protocol = &self.slice.protocol;
        // The same for every subject: what differs between them is not the draw.
        let seed = derive(self.run.config.seed, &format!("benchmark/{}", self.suite.name), 0);
        EvaluationSet {
            view: self.view,
            step: self.run.step,
            suite: &self.suite.name,
            dataset: self.slice.dataset,
            first: 0,
            rows: self.slice.rows,
            n: self.n,
            per_item: (self.parameters.samples_per_item / self.n.max(1)).max(1),
            style: &self.style,
            sampling: protocol.sampling(self.style.stops(self.suite)),
            compute: self.parameters.compute,
            limits: self.run.config.programs,
            plain_notation: protocol.plain_notation,
            subjects: self.parameters.subjects.iter().map(|subject| (subject, seed)).collect(),
        }
    }

    /// All samples are graded: their rows, the scores, and what comes next.
    fn finish(&self, set: &EvaluationSet<'_>, rows: &[BenchmarkRow], mut plan: Plan) -> Result<Plan, PlanError> {
        let mut scored = self.scored.clone();
        let mut counts: Vec<Count> = self.parameters.subjects.iter().map(|_| Count::new(rows)).collect();
        for answers in set.answers(rows)? {
            let count = &mut counts[answers.subject];
            count.cost(answers.result);
            for (sample, graded) in answers.graded {
                count.sample(sample, &graded);
                plan.records.benchmark_samples.push(BenchmarkSampleRecord {
                    suite: self.slice.name().to_owned(),
                    subject: answers.subject as u32,
                    task_id: rows[sample.row as usize].task_id.clone(),
                    sample: sample.clone(),
                    graded,
                });
            }
        }
        for (at, (subject, count)) in self.parameters.subjects.iter().zip(counts).enumerate() {
            if let Some(spread) = count.score.pass_at_k(1) {
                scored.push(Scored {
                    subject: Subject {
                        name: subject.name.clone(),
                        role: subject.role,
                        member: subject.member.map(|member| member.0),
                    },
                    suite: self.slice.name().to_owned(),
                    cell: Cell { pass_at_1: spread.mean, standard_error: spread.standard_error },
                });
            }
            plan.records.benchmark_results.push(self.result(at as u32, subject, count));
        }
        let next = self.parameters.suites.get(self.run.step as usize + 1);
        let next = self.run.next(next.map(|slice| slice.name().to_owned()).unwrap_or_default(), &scored)?;
        if next.completed {
            let table = Table::of(scored.into_iter().map(|scored| (scored.subject, scored.suite, scored.cell)));
            plan.result = Some(serde_json::to_value(table)?);
        }
        plan.finish = Some(next);
        Ok(plan)
    }

    fn result(&self, at: u32, subject: &BenchmarkSubject, count: Count) -> BenchmarkResultRecord {
        let mut protocol = serde_json::to_value(&self.slice.protocol).unwrap_or_default();
        if let Some(fields) = protocol.as_object_mut() {
            fields.insert("n".to_owned(), self.n.into());
            if self.slice.name.is_some() {
                fields.insert("suite".to_owned(), self.suite.name.as_str().into());
            }
            fields.insert("seed".to_owned(), self.run.config.seed.to_string().into());
            fields.insert("prompts_sha256".to_owned(), count.prompts_sha256.into());
            fields.insert("chat_template_sha256".to_owned(), count.chat_template_sha256.into());
            fields.insert("stop".to_owned(), self.style.stops(self.suite).into());
            fields.insert("compute".to_owned(), serde_json::to_value(self.parameters.compute).unwrap_or_default());
        }
        BenchmarkResultRecord {
            suite: self.slice.name().to_owned(),
            subject: at,
            name: subject.name.clone(),
            role: subject.role,
            run: subject.run,
            member: subject.member,
            version: subject.adapter.map(|adapter| adapter.version),
            step: subject.step,
            base_model: subject.base_model.clone(),
            dataset: self.slice.dataset,
            protocol,
            n: self.n,
            score: count.score,
            base: count.is_base_counted.then_some(count.base),
            completion_tokens: count.completion_tokens,
            entropy: count.surprisal.map(|nats| nats / count.completion_tokens.max(1) as f64),
            seconds: count.seconds,
        }
    }
}

/// The counts of a subject's samples.
struct Count {
    score: Score,
    base: Score,
    is_base_counted: bool,
    completion_tokens: u64,
    surprisal: Option<f64>,
    seconds: f64,
    prompts_sha256: String,
    chat_template_sha256: Option<String>,
}

impl Count {
    fn new(rows: &[BenchmarkRow]) -> Self {
        Self {
            score: Score::of_rows(rows.len()),
            base: Score::of_rows(rows.len()),
            is_base_counted: rows.iter().any(|row| row.oracle.base_tests().is_some()),
            completion_tokens: 0,
            surprisal: Some(0.0),
            seconds: 0.0,
            prompts_sha256: String::new(),
            chat_template_sha256: None,
        }
    }

    fn sample(&mut self, sample: &BenchmarkSample, graded: &Graded) {
        let row = sample.row as usize;
        self.score.count(row, graded.correct);
        self.base.count(row, graded.base_correct.unwrap_or(false));
    }

    fn cost(&mut self, result: &BenchmarkResult) {
        self.completion_tokens += result.usage.completion_tokens;
        self.surprisal = self.surprisal.zip(result.surprisal).map(|(sum, own)| sum + own);
        self.seconds += result.usage.seconds;
        self.prompts_sha256.clone_from(&result.prompts_sha256);
        self.chat_template_sha256.clone_from(&result.chat_template_sha256);
    }
}
