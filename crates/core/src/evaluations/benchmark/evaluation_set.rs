//! An evaluation set: rows of a dataset that models answer in a step, generated in slices, then graded.

use crate::benchmark::{BenchmarkRow, Graded, PromptStyle, graded, task};
use crate::contract::{DatasetRow, Plan, PlanError, StepView, Want, WorkItem};
use crate::dataset::problem;
use crate::evaluations::BenchmarkSubject;
use crate::id::DatasetId;
use crate::verify::{Check, Task, Verdict};
use crate::work::{
    BenchmarkPayload, BenchmarkResult, BenchmarkSample, Compute, Payload, ProgramLimits, Requirements, Sampling,
    VerifyPayload, WorkKey,
};

/// Rows of a dataset, and who answers them how.
pub(crate) struct EvaluationSet<'a> {
    pub(crate) view: &'a StepView,
    pub(crate) step: u32,
    /// The suite whose rows they are, or are like.
    pub(crate) suite: &'a str,
    pub(crate) dataset: DatasetId,
    /// The first row.
    pub(crate) first: u32,
    /// The number of rows.
    pub(crate) rows: u32,
    /// Samples a row.
    pub(crate) n: u32,
    /// Rows of one item.
    pub(crate) per_item: u32,
    pub(crate) style: &'a PromptStyle,
    pub(crate) sampling: Sampling,
    pub(crate) compute: Compute,
    /// Limits of programs under test.
    pub(crate) limits: ProgramLimits,
    /// Whether mathematical answers may be in plain notation.
    pub(crate) plain_notation: bool,
    /// Who answers, each with the seed of the draws.
    pub(crate) subjects: Vec<(&'a BenchmarkSubject, u64)>,
}

/// The graded answers of one subject to some of the rows.
pub(crate) struct Answers<'a> {
    /// The place among the subjects.
    pub(crate) subject: usize,
    pub(crate) result: &'a BenchmarkResult,
    /// The samples with what their verdicts say.
    pub(crate) graded: Vec<(&'a BenchmarkSample, Graded)>,
}

/// One slice of one subject.
#[derive(Clone, Copy)]
struct Chunk {
    subject: usize,
    number: u32,
    first: u32,
    rows: u32,
}

impl<'a> EvaluationSet<'a> {
    /// Adds to `plan` everything that should exist by now; the rows once all answers are graded and all rows are there.
    pub(crate) fn fill(&self, plan: &mut Plan) -> Result<Option<Vec<BenchmarkRow>>, PlanError> {
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
            let missing = self.missing(chunk.first, chunk.rows);
            if missing.is_empty() {
                plan.work.push(self.grade(grade, result)?);
            }
            plan.wants.extend(missing);
        }
        if is_open {
            return Ok(None);
        }
        let missing = self.missing(self.first, self.rows);
        if !missing.is_empty() {
            plan.wants = missing;
            return Ok(None);
        }
        let rows = self.first..self.first + self.rows;
        Ok(Some(rows.map(|row| self.row(row)).collect::<Result<_, _>>()?))
    }

    /// The graded answers, by subject and then by row; `rows` are those of [`EvaluationSet::fill`].
    pub(crate) fn answers(&self, rows: &[BenchmarkRow]) -> Result<Vec<Answers<'a>>, PlanError> {
        let mut answers = Vec::new();
        for chunk in self.chunks() {
            let Some(result) = self.view.benchmark(&self.key("generate", chunk.number))? else { continue };
            let grade = self.key("grade", chunk.number);
            let verdicts = self.view.verify(&grade)?.map_or(&[][..], |result| &result.verdicts);
            answers.push(Answers {
                subject: chunk.subject,
                result,
                graded: self.graded(&grade, rows, result, verdicts)?,
            });
        }
        Ok(answers)
    }

    fn chunks(&self) -> impl Iterator<Item = Chunk> + use<'_, 'a> {
        let slices = self.rows.div_ceil(self.per_item);
        (0..self.subjects.len()).flat_map(move |subject| {
            (0..slices).map(move |slice| {
                let first = slice * self.per_item;
                Chunk {
                    subject,
                    number: subject as u32 * slices + slice,
                    first: self.first + first,
                    rows: self.per_item.min(self.rows - first),
                }
            })
        })
    }

    fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.step, phase).chunk(chunk)
    }

    fn generate(&self, key: WorkKey, chunk: Chunk) -> WorkItem {
        let (subject, seed) = self.subjects[chunk.subject];
        let payload = BenchmarkPayload {
            suite: self.suite.to_owned(),
            dataset: self.dataset,
            first: chunk.first,
            rows: chunk.rows,
            base_model: subject.base_model.clone(),
            compute: self.compute,
            adapter: subject.adapter,
            prompts: self.style.name().to_owned(),
            sampling: self.sampling.clone(),
            n: self.n,
            seed,
        };
        let payload = Payload::Benchmark(payload);
        WorkItem { key, requirements: Requirements::of(&payload), payload }
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

    fn missing(&self, first: u32, rows: u32) -> Vec<Want> {
        let has = |row: &u32| self.view.rows.contains_key(&(self.dataset, *row));
        let missing = (first..first + rows).filter(|row| !has(row));
        missing.map(|row| Want::Row(self.dataset, row)).collect()
    }

    fn row(&self, row: u32) -> Result<BenchmarkRow, PlanError> {
        let found = self.view.rows.get(&(self.dataset, row));
        let DatasetRow(value) = found.ok_or_else(|| PlanError::Other(format!("row {row} is not there")))?;
        problem(row as usize, value)
            .map_err(|error| PlanError::Other(format!("row {row} of dataset {}: {error}", self.dataset)))
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
            let mut task = task(row, id, solution.clone()).map_err(PlanError::Other)?;
            if let Check::Math(pair) = &mut task.check {
                pair.plain = self.plain_notation;
            }
            tasks.push(task);
        }
        Ok(WorkItem {
            key,
            payload: Payload::Verify(VerifyPayload::new(tasks, self.limits)),
            requirements: Requirements::default(),
        })
    }

    /// The samples of a chunk with what their verdicts say; one without a solution has none.
    fn graded(
        &self,
        key: &WorkKey,
        rows: &[BenchmarkRow],
        result: &'a BenchmarkResult,
        verdicts: &[Verdict],
    ) -> Result<Vec<(&'a BenchmarkSample, Graded)>, PlanError> {
        let readable = result.samples.iter().filter(|sample| sample.solution.is_some()).count();
        if verdicts.len() != readable {
            return Err(PlanError::Result {
                key: key.clone(),
                detail: format!("{} verdicts on {readable} samples", verdicts.len()),
            });
        }
        let mut verdicts = verdicts.iter();
        let graded = result.samples.iter().filter_map(|sample| {
            let row = rows.get(sample.row.checked_sub(self.first)? as usize)?;
            let graded = match &sample.solution {
                Some(_) => graded(row, verdicts.next()?),
                None => Graded::unreadable(row, sample.reason.clone().unwrap_or_default()),
            };
            Some((sample, graded))
        });
        Ok(graded.collect())
    }
}
