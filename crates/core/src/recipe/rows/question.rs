//! Enters a step's rows as problems.

use std::{collections::BTreeMap, sync::Arc};

use super::Rows;
use crate::{
    benchmark::BenchmarkRow,
    dataset::problem,
    id::{DatasetId, ProblemId, WorkId},
    recipe::{PlanError, ProblemRecord, Progress},
    verify::Status,
    work::WorkKey,
};

/// A row and its problem.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The problem.
    pub id: ProblemId,
    /// The row.
    pub row: BenchmarkRow,
}

/// A row given to a member.
#[derive(Clone, Debug)]
pub struct Question {
    /// The request's name.
    pub number: u32,
    /// The row.
    pub row: Arc<Entered>,
    /// A position among the members.
    pub member: usize,
}

impl Rows<'_> {
    /// Gives the rows at `places` of a dataset to members, in order, once they are in the view; writes the problems. A
    /// row is the same problem each time it is drawn.
    pub fn questions(&mut self, dataset: DatasetId, places: &[(usize, u32)]) -> Progress<Arc<Vec<Question>>> {
        let view = self.draft.view;
        view.once("questions", || {
            let mut distinct: Vec<u32> = places.iter().map(|(_, place)| *place).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let rows = self.draft.rows(dataset, &distinct)?;
            let mut entered = BTreeMap::new();
            for (place, row) in distinct.iter().zip(rows) {
                let unreadable = |error| PlanError::Other(format!("row {place} of dataset {dataset}: {error}"));
                let row = problem(*place as usize, &row.0).map_err(unreadable)?;
                entered.insert(*place, Arc::new(self.enter(*place, row)?));
            }
            let question = |(number, (member, place)): (u32, &(usize, u32))| {
                let (row, member) = (Arc::clone(entered.get(place)?), *member);
                Some(Question { number, row, member })
            };
            Ok((0..).zip(places).filter_map(question).collect::<Vec<Question>>())
        })
    }

    fn enter(&mut self, place: u32, row: BenchmarkRow) -> Result<Entered, PlanError> {
        let work = WorkId::of(self.draft.run.run, &WorkKey::new(0, "rows"));
        let id = ProblemId::of(work, &place.to_string(), 0);
        let prompt = self
            .style
            .render(&row)
            .map_err(|error| PlanError::Other(error.to_string()))?;
        self.draft.plan.records.problems.push(ProblemRecord {
            id,
            index: place,
            proposer: None,
            source: None,
            kind: row.oracle.kind(),
            prompt: prompt.text(),
            proposal: String::new(),
            valid: true,
            status: Status::Ok,
            reason: String::new(),
            program: row.oracle.program().map(str::to_owned),
            values: serde_json::to_value(row.values())?,
            descriptor: None,
            cell: None,
            parents: Vec::new(),
        });
        Ok(Entered { id, row })
    }
}
