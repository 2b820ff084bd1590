//! Reads a step's rows, and enters those that are learned from as problems.

use std::{collections::BTreeMap, sync::Arc};

use super::Rows;
use crate::{
    benchmark::BenchmarkRow,
    contract::{PlanError, ProblemRecord},
    dataset::problem,
    id::{DatasetId, ProblemId, WorkId},
    kit::{Draft, Progress},
    verify::Status,
    work::WorkKey,
};

/// A row of a dataset.
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
    /// row is the same problem each time it is drawn.
    pub fn questions(&mut self, dataset: DatasetId, places: &[(usize, u32)]) -> Progress<Arc<Vec<Question>>> {
        let view = self.draft.view;
        view.once("questions", || {
            let questions = self.read(dataset, places)?;
            let distinct: BTreeMap<u32, &PlacedRow> = questions
                .iter()
                .map(|question| (question.row.place, question.row.as_ref()))
                .collect();
            for row in distinct.values() {
                self.enter(row)?;
            }
            Ok(questions)
        })
    }

    /// The same without entering them as problems.
    pub(crate) fn read(&mut self, dataset: DatasetId, places: &[(usize, u32)]) -> Progress<Vec<Question>> {
        let read = self
            .draft
            .placed_rows(dataset, places.iter().map(|(_, place)| *place))?;
        let question = |(number, (member, place)): (u32, &(usize, u32))| {
            let (row, member) = (Arc::clone(read.get(place)?), *member);
            Some(Question { number, row, member })
        };
        Ok((0..).zip(places).filter_map(question).collect())
    }

    fn enter(&mut self, placed: &PlacedRow) -> Result<(), PlanError> {
        let place = placed.place;
        let prompt = self
            .style
            .render(&placed.row)
            .map_err(|error| PlanError::Other(format!("row {place}: {error}")))?;
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
            id: self.problem,
            index: self.place,
            proposer: None,
            source: None,
            kind: row.oracle.kind(),
            prompt,
            proposal: String::new(),
            valid: true,
            status: Status::Ok,
            reason: String::new(),
            program: row.oracle.program().map(str::to_owned),
            values: serde_json::to_value(row.values())?,
            descriptor: None,
            cell: None,
            parents: Vec::new(),
        })
    }
}
