//! Reads a step's rows, and enters those that are learned from as problems.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{RewardConfig, Rows};
use crate::benchmark::BenchmarkRow;
use crate::contract::{CostClass, Phase, PlanError, ProblemRecord};
use crate::dataset::problem;
use crate::id::{DatasetId, ProblemId, WorkId};
use crate::kit::{Draft, Pause, Progress, join};
use crate::work::{RolloutPayload, RolloutRequest, Sampling, WorkKey};

#[derive(Clone, Debug)]
pub struct PlacedRow {
    /// Its place in the dataset, from 0.
    pub place: u32,
    /// The problem that it is entered as, if it is learned from.
    pub problem: ProblemId,
    pub row: BenchmarkRow,
}

/// A row given to a member.
#[derive(Clone, Debug)]
pub struct Question {
    /// The request's name.
    pub number: u32,
    pub row: Arc<PlacedRow>,
    /// A position among the members.
    pub member: usize,
}

impl Rows<'_> {
    /// Gives the rows at `places` of a dataset to members, in order, once they are in the view; writes the problems. A
    /// row is the same problem each time it is drawn. The requests' numbers begin with `first`.
    pub fn questions(
        &mut self,
        dataset: DatasetId,
        places: &[(usize, u32)],
        first: u32,
    ) -> Progress<Arc<Vec<Question>>> {
        let view = self.draft.view;
        view.once(&format!("questions/{first}"), || {
            let mut questions = self.read(dataset, places)?;
            questions.iter_mut().for_each(|question| question.number += first);
            let distinct: BTreeMap<u32, &PlacedRow> =
                questions.iter().map(|question| (question.row.place, question.row.as_ref())).collect();
            for row in distinct.values() {
                self.enter(row)?;
            }
            Ok(questions)
        })
    }

    /// The same without entering them as problems.
    pub(crate) fn read(&mut self, dataset: DatasetId, places: &[(usize, u32)]) -> Progress<Vec<Question>> {
        let read = self.draft.placed_rows(dataset, places.iter().map(|(_, place)| *place))?;
        let question = |(number, (member, place)): (u32, &(usize, u32))| {
            let (row, member) = (Arc::clone(read.get(place)?), *member);
            Some(Question { number, row, member })
        };
        Ok((0..).zip(places).filter_map(question).collect())
    }

    fn enter(&mut self, placed: &PlacedRow) -> Result<(), PlanError> {
        let place = placed.place;
        let prompt =
            self.style.render(&placed.row).map_err(|error| PlanError::Other(format!("row {place}: {error}")))?;
        self.draft.plan.records.problems.push(placed.record(prompt.text())?);
        Ok(())
    }
}

impl Draft<'_> {
    /// The rows of a dataset at `places`, by place, once they are in the view.
    pub(crate) fn placed_rows(
        &mut self,
        dataset: DatasetId,
        places: impl IntoIterator<Item = u32>,
    ) -> Progress<BTreeMap<u32, Arc<PlacedRow>>> {
        self.placed_rows_as("rows", dataset, places)
    }

    /// The same; `name` tells the problems of one dataset of a run from those of another.
    pub(crate) fn placed_rows_as(
        &mut self,
        name: &str,
        dataset: DatasetId,
        places: impl IntoIterator<Item = u32>,
    ) -> Progress<BTreeMap<u32, Arc<PlacedRow>>> {
        let mut distinct: Vec<u32> = places.into_iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let rows = self.rows(dataset, &distinct)?;
        let work = WorkId::of(self.run.run, &WorkKey::new(0, name));
        let mut read = BTreeMap::new();
        for (place, row) in distinct.iter().zip(rows) {
            let unreadable = |error| PlanError::Other(format!("row {place} of dataset {dataset}: {error}"));
            let row = PlacedRow {
                place: *place,
                problem: ProblemId::of(work, &place.to_string(), 0),
                row: problem(*place as usize, &row.0).map_err(unreadable)?,
            };
            read.insert(*place, Arc::new(row));
        }
        Ok(read)
    }
}

impl PlacedRow {
    /// The row as a problem; `prompt` is what a solver is shown.
    pub(crate) fn record(&self, prompt: String) -> Result<ProblemRecord, PlanError> {
        let row = &self.row;
        Ok(ProblemRecord {
            prompt,
            program: row.oracle.program().map(str::to_owned),
            values: serde_json::to_value(row.values())?,
            ..ProblemRecord::new(self.problem, self.place, row.oracle.kind())
        })
    }
}

// Checks that the prompt of every row fits into the context, before anything is learned.

pub(crate) const FIT: Phase = Phase::new("fit", CostClass::Solve);

/// Rows per item of work.
const ROWS: u32 = 1000;

/// What was found to fit into a context. A run remembers it, so that a fork that asks more is checked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitted {
    pub base_model: String,
    pub dataset: DatasetId,
    /// How many of its rows, from the first.
    pub rows: u32,
    /// The style of the prompts.
    pub prompts: String,
    /// The most tokens of an answer.
    pub max_tokens: u32,
}

impl Rows<'_> {
    /// Waits until a worker has found that every prompt with the longest answer fits into the base's context, unless an
    /// earlier step did. Only the base's tokenizer knows, and only workers have it. A row that is too long ends the run
    /// with the row's place.
    pub fn fit(
        &mut self,
        fitted: &mut Option<Fitted>,
        dataset: DatasetId,
        rows: u32,
        sampling: &Sampling,
    ) -> Progress<()> {
        let wanted = Fitted {
            base_model: self.draft.population(0)?.1.base_model.name.clone(),
            dataset,
            rows,
            prompts: self.style.name().to_owned(),
            max_tokens: sampling.max_tokens,
        };
        if fitted.as_ref() == Some(&wanted) {
            return Ok(());
        }
        self.ask_nothing(dataset, rows, sampling)?;
        *fitted = Some(wanted);
        Ok(())
    }

    /// Lets a worker count the tokens of every prompt, without an answer.
    fn ask_nothing(&mut self, dataset: DatasetId, rows: u32, sampling: &Sampling) -> Progress<()> {
        let chunks = (0..rows.div_ceil(ROWS)).map(|chunk| (chunk, chunk * ROWS..rows.min((chunk + 1) * ROWS)));
        join(chunks, |(chunk, places)| {
            let key = self.draft.key(FIT, chunk);
            if self.draft.view.work.contains_key(&key) {
                return self.draft.view.rollout(&key)?.map(|_| ()).ok_or(Pause::Waiting);
            }
            let places: Vec<(usize, u32)> = places.map(|place| (0, place)).collect();
            let questions = self.read(dataset, &places)?;
            let style = &self.style;
            let requests = questions.iter().map(|question| {
                let row = &question.row;
                let prompt = style.render(&row.row);
                Ok(RolloutRequest::new(
                    format!("row {}", row.place),
                    prompt.map_err(|error| PlanError::Other(format!("row {}: {error}", row.place)))?,
                    0,
                    0,
                ))
            });
            let requests = requests.collect::<Result<Vec<_>, PlanError>>()?;
            self.draft.rollout(&key, |draft| {
                Ok(RolloutPayload {
                    requests,
                    ..RolloutPayload::new(
                        draft.population(0)?.1.base_model.clone(),
                        draft.run.config.compute,
                        sampling.clone(),
                    )
                })
            })?;
            Ok(())
        })
        .map(drop)
    }
}

/// How questions are put to members.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'p> {
    /// The phase that samples answers, and the one that grades them.
    pub phases: [Phase; 2],
    /// Answers to each question.
    pub n: u32,
    /// How answers are sampled.
    pub sampling: &'p Sampling,
    /// What answers earn.
    pub reward: &'p RewardConfig,
    /// Names the draws, so that answers to a row are drawn alike by every member and in every step; left out, each item
    /// has draws of its own.
    pub draws: Option<&'static str>,
    /// The round of the step's questions that these are.
    pub round: u32,
    /// Whether members learn from the answers. Only such answers are recorded as attempts, and their tokens kept.
    pub is_learned: bool,
}
