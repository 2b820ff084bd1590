//! The growing set: the tasks of the dataset, and those that joined them.

use std::{collections::BTreeMap, sync::Arc};

use super::step::Step;
use crate::{
    benchmark::Question,
    id::ProblemId,
    recipe::{
        PlanError, Progress,
        mathematics::{question_of, solve_prompt},
        rows::{PlacedRow, Sampler},
    },
    verify::ProblemKind,
};

/// The kinds of problems that join the growing set.
pub(super) const KINDS: [ProblemKind; 1] = [ProblemKind::Math];

/// A task: a question with its verifier, the correct answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) problem: ProblemId,
    pub(super) question: String,
    pub(super) answer: String,
}

/// The place of a task in the growing set.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A row of the dataset.
    Row(u32),
    /// A task that joined.
    Joined(ProblemId),
}

impl Step<'_> {
    /// The number of tasks in the growing set.
    pub(super) fn size(&self) -> Result<usize, PlanError> {
        Ok(self.parameters.dataset.settled()?.1 as usize + self.memory.pool.len(&KINDS))
    }

    /// Draws `count` tasks of the growing set, each once before any twice. `name` names the draw, and `new` are the tasks
    /// that joined in this step.
    pub(super) fn draw(&mut self, name: &str, count: u32, new: &[Arc<Task>]) -> Progress<Arc<Vec<Arc<Task>>>> {
        let run = self.draft.run;
        let size = u32::try_from(self.size()?).unwrap_or(u32::MAX);
        let path = format!("{name}/{}", run.step);
        let drawn = Sampler::Epochs.draw(0..size, count, run.config.seed, &path, 0);
        let (dataset, rows) = self.parameters.dataset.settled()?;
        let pool = &self.memory.pool;
        let places = drawn.into_iter().filter_map(|place| match place.checked_sub(rows) {
            None => Some(Place::Row(place)),
            Some(joined) => pool.at(&KINDS, joined as usize).map(Place::Joined),
        });
        let places: Vec<Place> = places.collect();
        let new: BTreeMap<ProblemId, &Arc<Task>> = new.iter().map(|task| (task.problem, task)).collect();
        let seeds = places.iter().filter_map(|place| match place {
            Place::Row(row) => Some(*row),
            Place::Joined(_) => None,
        });
        let seeds = self.draft.placed_rows(dataset, seeds)?;
        let earlier = places.iter().filter_map(|place| match place {
            Place::Joined(problem) if !new.contains_key(problem) => Some(*problem),
            _ => None,
        });
        self.draft.problems(earlier)?;
        let view = self.draft.view;
        view.once(name, || {
            for row in seeds.values() {
                let prompt = solve_prompt(&self.prompts, &row.row.question)?;
                let record = row.record(prompt.text())?;
                self.draft.plan.records.problems.push(record);
            }
            let tasks = places.iter().map(|place| match place {
                Place::Row(row) => seeds.get(row).map_or_else(|| Err(missing(*row)), |row| seed(row)),
                Place::Joined(problem) => match new.get(problem) {
                    Some(task) => Ok(Arc::clone(task)),
                    None => {
                        let (question, answer) = question_of(view, *problem)?;
                        Ok(Arc::new(Task {
                            problem: *problem,
                            question,
                            answer,
                        }))
                    }
                },
            });
            Ok(tasks.collect::<Result<_, PlanError>>()?)
        })
    }
}

/// A row of the dataset as a task.
fn seed(row: &PlacedRow) -> Result<Arc<Task>, PlanError> {
    let Question::Math { gold } = &row.row.oracle else {
        let kind = row.row.oracle.kind().name();
        let detail = format!(
            "row {} of the dataset is a problem of type {kind}: math is valid",
            row.place
        );
        return Err(PlanError::Other(detail));
    };
    Ok(Arc::new(Task {
        problem: row.problem,
        question: row.row.question.clone(),
        answer: gold.clone(),
    }))
}

fn missing(row: u32) -> PlanError {
    PlanError::Other(format!("row {row} of the dataset is not in the view"))
}
