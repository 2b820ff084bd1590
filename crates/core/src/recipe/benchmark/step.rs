//! The step of one suite.

use serde::{Deserialize, Serialize};

use super::parameters::{BenchmarkParameters, BenchmarkSubject, SuiteSlice};
use crate::{
    benchmark::{BenchmarkRow, Cell, Graded, PromptStyle, Score, Subject, Suite, Table, graded, suite, task},
    dataset::problem,
    recipe::{
        BenchmarkResultRecord, BenchmarkSampleRecord, DatasetRow, Plan, PlanError, RunState, StepView, Want, WorkItem,
    },
    seed::derive,
    verify::{Task, Verdict},
    work::{
        BenchmarkPayload, BenchmarkResult, BenchmarkSample, Payload, Requirements, Sampling, VerifyPayload, WorkKey,
    },
};

/// What is remembered of a suite that is done: a cell of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Scored {
    subject: Subject,
    suite: String,
    cell: Cell,
}

/// The step of one suite.
pub(super) struct SuiteStep<'a> {
    run: &'a RunState,
    parameters: &'a BenchmarkParameters,
    view: &'a StepView,
    suite: &'static Suite,
    slice: &'a SuiteSlice,
    style: PromptStyle,
    /// Samples a row.
    n: u32,
    /// Rows of one item.
    per_item: u32,
    /// Items of one subject.
    slices: u32,
}

/// One slice of one subject.
#[derive(Clone, Copy)]
struct Chunk {
    subject: usize,
    number: u32,
    first: u32,
    rows: u32,
}

impl<'a> SuiteStep<'a> {
    pub(super) fn new(
        run: &'a RunState,
        parameters: &'a BenchmarkParameters,
        view: &'a StepView,
    ) -> Result<Self, PlanError> {
        let other = |error: &dyn std::fmt::Display| PlanError::Other(error.to_string());
        let slice = parameters
            .suites
            .get(run.step as usize)
            .ok_or_else(|| other(&format!("there is no suite for step {}", run.step)))?;
        let n = slice.n.unwrap_or(parameters.n);
        let per_item = (parameters.samples_per_item / n.max(1)).max(1);
        Ok(Self {
            run,
            parameters,
            view,
            suite: suite(&slice.suite).map_err(|error| other(&error))?,
            style: PromptStyle::shipped(&slice.protocol.prompts).map_err(|error| other(&error))?,
            slice,
            n,
            per_item,
            slices: slice.rows.div_ceil(per_item),
        })
    }

    /// Everything that should exist by now.
    pub(super) fn plan(&self) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        let mut is_open = false;
        for chunk in self.chunks() {
            let [generate, grade] = ["generate", "grade"].map(|phase| self.key(phase, chunk.number));
            if !self.view.work.contains_key(&generate) {
                plan.work.push(self.generate(generate, chunk));
                is_open = true;
                continue;
            }
            let Some(result) = self.view.benchmark(&generate)? else {
                is_open = true;
                continue;
            };
            self.check(&generate, chunk, result)?;
            if self.view.work.contains_key(&grade) {
                is_open |= self.view.verify(&grade)?.is_none();
                continue;
            }
            if result.samples.iter().all(|sample| sample.solution.is_none()) {
                continue;
            }
            is_open = true;
            let missing = self.missing(chunk);
            if missing.is_empty() {
                plan.work.push(self.grade(grade, result)?);
            }
            plan.wants.extend(missing);
        }
        if is_open {
            return Ok(plan);
        }
        let wants: Vec<Want> = (0..self.slice.rows)
            .map(|row| Want::Row(self.slice.dataset, row))
            .filter(|want| !self.has(want))
            .collect();
        if !wants.is_empty() {
            plan.wants = wants;
            return Ok(plan);
        }
        self.finish(plan)
    }

    fn chunks(&self) -> impl Iterator<Item = Chunk> + use<'_> {
        (0..self.parameters.subjects.len()).flat_map(move |subject| {
            (0..self.slices).map(move |slice| {
                let first = slice * self.per_item;
                Chunk {
                    subject,
                    number: subject as u32 * self.slices + slice,
                    first,
                    rows: self.per_item.min(self.slice.rows - first),
                }
            })
        })
    }

    fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }

    fn generate(&self, key: WorkKey, chunk: Chunk) -> WorkItem {
        let subject = &self.parameters.subjects[chunk.subject];
        let protocol = &self.slice.protocol;
        let payload = BenchmarkPayload {
            suite: self.suite.name.clone(),
            dataset: self.slice.dataset,
            first: chunk.first,
            rows: chunk.rows,
            base_model: subject.base_model.clone(),
            compute: self.parameters.compute,
            adapter: subject.adapter,
            prompts: protocol.prompts.clone(),
            sampling: Sampling {
                temperature: protocol.temperature,
                top_p: protocol.top_p,
                max_tokens: protocol.max_tokens,
                stop: self.style.stops(self.suite),
                ..Sampling::default()
            },
            n: self.n,
            // The same for every subject: what differs between them is not the draw.
            seed: derive(self.run.config.seed, &format!("benchmark/{}", self.suite.name), 0),
        };
        WorkItem {
            key,
            requirements: Requirements {
                base_model: Some(subject.base_model.name.clone()),
                memory_bytes: 0,
            },
            payload: Payload::Benchmark(payload),
        }
    }

    /// Refuses a result that is not of this chunk: counting it would count samples twice or not at all.
    fn check(&self, key: &WorkKey, chunk: Chunk, result: &BenchmarkResult) -> Result<(), PlanError> {
        let n = self.n;
        let wanted = (chunk.first..chunk.first + chunk.rows).flat_map(|row| (0..n).map(move |sample| (row, sample)));
        if wanted.eq(result.samples.iter().map(|sample| (sample.row, sample.sample))) {
            return Ok(());
        }
        Err(PlanError::Result {
            key: key.clone(),
            detail: format!(
                "{} samples that are not {n} of each row from {} to {}",
                result.samples.len(),
                chunk.first,
                chunk.first + chunk.rows - 1
            ),
        })
    }

    fn has(&self, want: &Want) -> bool {
        matches!(want, Want::Row(dataset, row) if self.view.rows.contains_key(&(*dataset, *row)))
    }

    fn missing(&self, chunk: Chunk) -> Vec<Want> {
        let rows = chunk.first..chunk.first + chunk.rows;
        rows.map(|row| Want::Row(self.slice.dataset, row))
            .filter(|want| !self.has(want))
            .collect()
    }

    fn row(&self, row: u32) -> Result<BenchmarkRow, PlanError> {
        let found = self.view.rows.get(&(self.slice.dataset, row));
        let DatasetRow(value) = found.ok_or_else(|| PlanError::Other(format!("row {row} is not there")))?;
        problem(row as usize, value)
            .map_err(|error| PlanError::Other(format!("row {row} of dataset {}: {error}", self.slice.dataset)))
    }

    fn grade(&self, key: WorkKey, result: &BenchmarkResult) -> Result<WorkItem, PlanError> {
        let mut tasks: Vec<Task> = Vec::new();
        let mut row: Option<(u32, BenchmarkRow)> = None;
        for sample in &result.samples {
            let Some(solution) = &sample.solution else { continue };
            let row = match &mut row {
                Some((number, row)) if *number == sample.row => row,
                other => &mut other.insert((sample.row, self.row(sample.row)?)).1,
            };
            let id = format!("{}/{}", sample.row, sample.sample);
            tasks.push(task(row, id, solution.clone()).map_err(PlanError::Other)?);
        }
        Ok(WorkItem {
            key,
            payload: Payload::Verify(VerifyPayload {
                tasks,
                limits: self.run.config.programs,
            }),
            requirements: Requirements::default(),
        })
    }

    /// All samples are graded: their rows, the scores, and what comes next.
    fn finish(&self, mut plan: Plan) -> Result<Plan, PlanError> {
        let rows = (0..self.slice.rows)
            .map(|row| self.row(row))
            .collect::<Result<Vec<_>, _>>()?;
        let mut scored: Vec<Scored> = self.run.memory()?;
        let mut counts: Vec<Count> = self.parameters.subjects.iter().map(|_| Count::new(&rows)).collect();
        for chunk in self.chunks() {
            let generate = self.key("generate", chunk.number);
            let Some(result) = self.view.benchmark(&generate)? else {
                continue;
            };
            let grade = self.key("grade", chunk.number);
            let verdicts = self.view.verify(&grade)?.map_or(&[][..], |result| &result.verdicts);
            let count = &mut counts[chunk.subject];
            count.cost(result);
            for (sample, graded) in self.graded(&grade, &rows, result, verdicts)? {
                count.sample(sample, &graded);
                plan.records.benchmark_samples.push(BenchmarkSampleRecord {
                    suite: self.slice.name().to_owned(),
                    subject: chunk.subject as u32,
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
                    cell: Cell {
                        pass_at_1: spread.mean,
                        standard_error: spread.standard_error,
                    },
                });
            }
            plan.records
                .benchmark_results
                .push(self.result(at as u32, subject, count));
        }
        let next = self.parameters.suites.get(self.run.step as usize + 1);
        let next = self
            .run
            .next(next.map(|slice| slice.name().to_owned()).unwrap_or_default(), &scored)?;
        if next.completed {
            let table = Table::of(
                scored
                    .into_iter()
                    .map(|scored| (scored.subject, scored.suite, scored.cell)),
            );
            plan.result = Some(serde_json::to_value(table)?);
        }
        plan.finish = Some(next);
        Ok(plan)
    }

    /// The samples of a chunk with what their verdicts say; one without a solution has none.
    fn graded<'r>(
        &self,
        key: &WorkKey,
        rows: &[BenchmarkRow],
        result: &'r BenchmarkResult,
        verdicts: &[Verdict],
    ) -> Result<Vec<(&'r BenchmarkSample, Graded)>, PlanError> {
        let readable = result.samples.iter().filter(|sample| sample.solution.is_some()).count();
        if verdicts.len() != readable {
            return Err(PlanError::Result {
                key: key.clone(),
                detail: format!("{} verdicts on {readable} samples", verdicts.len()),
            });
        }
        let mut verdicts = verdicts.iter();
        let graded = result.samples.iter().filter_map(|sample| {
            let row = &rows[sample.row as usize];
            let graded = match &sample.solution {
                Some(_) => graded(row, verdicts.next()?),
                None => Graded::unreadable(row, sample.reason.clone().unwrap_or_default()),
            };
            Some((sample, graded))
        });
        Ok(graded.collect())
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
            fields.insert(
                "compute".to_owned(),
                serde_json::to_value(self.parameters.compute).unwrap_or_default(),
            );
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
