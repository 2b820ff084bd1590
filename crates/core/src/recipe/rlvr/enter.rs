//! The rows of a step, entered as problems.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    Parameters,
    step::{Question, Step},
};
use crate::{
    benchmark::BenchmarkRow,
    id::{ProblemId, WorkId},
    recipe::{PlanError, ProblemRecord, Progress},
    verify::Status,
    work::WorkKey,
};

/// A row and the problem that it is.
pub(super) struct Entered {
    pub(super) id: ProblemId,
    pub(super) row: BenchmarkRow,
}

impl Step<'_> {
    /// What every member is asked in this step, once the rows are there; writes the problems. A row is the same problem
    /// whenever it is drawn.
    pub(super) fn questions(&mut self) -> Progress<Arc<Vec<Question>>> {
        let view = self.draft.view;
        view.once("questions", || {
            let drawn: Vec<(usize, u32)> = (0..self.draft.members.len())
                .flat_map(|member| self.drawn(member).into_iter().map(move |row| (member, row)))
                .collect();
            let mut places: Vec<u32> = drawn.iter().map(|(_, row)| *row).collect();
            places.sort_unstable();
            places.dedup();
            let rows = self.draft.rows(self.parameters.dataset.id, &places)?;
            let mut entered = BTreeMap::new();
            for (place, row) in places.iter().zip(rows) {
                let unreadable = |error| PlanError::Other(format!("row {place} of the dataset: {error}"));
                let row = serde_json::from_value(row.0.clone()).map_err(unreadable)?;
                entered.insert(*place, Arc::new(self.enter(*place, row)?));
            }
            let question = |(number, (member, place)): (u32, (usize, u32))| {
                let row = Arc::clone(entered.get(&place)?);
                Some(Question { number, row, member })
            };
            Ok((0..).zip(drawn).filter_map(question).collect::<Vec<Question>>())
        })
    }

    /// The rows of a member's batch.
    fn drawn(&self, member: usize) -> Vec<u32> {
        let run = self.draft.run;
        let path = format!("rows/{}", self.draft.members[member].name);
        let Parameters { sampler, batch, .. } = self.parameters;
        sampler.draw(self.slice(member), *batch, run.config.seed, &path, run.step)
    }

    fn slice(&self, member: usize) -> Range<u32> {
        let rows = self.parameters.dataset.rows;
        if !self.parameters.slices {
            return 0..rows;
        }
        let members = self.draft.members.len() as u64;
        let cut = |member: u64| (u64::from(rows) * member / members) as u32;
        cut(member as u64)..cut(member as u64 + 1)
    }

    fn enter(&mut self, place: u32, row: BenchmarkRow) -> Result<Entered, PlanError> {
        let work = WorkId::of(self.draft.run.run, &WorkKey::new(0, "rows"));
        let id = ProblemId::of(work, &place.to_string(), 0);
        let prompt = self.style.render(&row).map_err(|error| PlanError::Other(error.to_string()))?;
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
            values: row.values(),
            descriptor: None,
            cell: None,
            parents: Vec::new(),
        });
        Ok(Entered { id, row })
    }
}
