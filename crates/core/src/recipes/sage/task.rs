//! The growing set: the tasks of the dataset, and those that joined them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::solve::plain_prompt;
use super::step::Step;
use super::verifier::{Generated, Verifier};
use crate::benchmark::Question;
use crate::contract::{PlanError, StepView};
use crate::id::ProblemId;
use crate::kit::judge::{is_right, prompt_error};
use crate::kit::rows::{PlacedRow, in_epochs};
use crate::kit::{Member, Pool, Progress};
use crate::problem::Values;
use crate::verify::ProblemKind;

/// The kinds of problems that join the growing set.
const KINDS: [ProblemKind; 2] = [ProblemKind::Math, ProblemKind::Code];

/// A task: a question with its verifier.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) problem: ProblemId,
    pub(super) question: String,
    pub(super) verifier: Verifier,
}

impl Task {
    pub(super) fn kind(&self) -> ProblemKind {
        self.verifier.kind()
    }

    /// The variables of prompts about it, with a plan if there is one.
    pub(super) fn variables(&self, plan: Option<&str>) -> minijinja::Value {
        let (question, stated) = (&self.question, self.verifier.text());
        let entry_point = self.verifier.entry_point().unwrap_or_default();
        minijinja::context! { question, answer => stated, tests => stated, entry_point, plan }
    }

    /// Whether its stated answer is right; `None` if only people can tell.
    pub(super) fn is_right(&self) -> Option<bool> {
        match &self.verifier {
            Verifier::Answer(answer) => is_right(&self.question, answer),
            _ => None,
        }
    }

    /// Its values as a problem that a member posed.
    pub(super) fn values(&self) -> Values {
        let question = self.question.clone();
        match &self.verifier {
            Verifier::Answer(answer) => Values::Math { question, answer: answer.clone() },
            tests => Values::Code {
                question,
                canonical: None,
                entry_point: tests.entry_point().map(str::to_owned),
                starter_code: None,
                tests: Some(tests.text().to_owned()),
            },
        }
    }
}

/// The place of a task in the growing set.
#[derive(Clone, Copy, Debug)]
enum Place {
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
        let drawn = in_epochs(0, 0..size, count, run.config.seed, &path);
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
                let prompt = plain_prompt(&self.prompts, seed(row)?.as_ref()).map_err(prompt_error)?;
                let record = row.record(prompt.prompt.text())?;
                self.draft.plan.records.problems.push(record);
            }
            let tasks = places.iter().map(|place| match place {
                Place::Row(row) => seeds.get(row).map_or_else(|| Err(missing(*row)), |row| seed(row)),
                Place::Joined(problem) => match new.get(problem) {
                    Some(task) => Ok(Arc::clone(task)),
                    None => joined(view, *problem),
                },
            });
            Ok(tasks.collect::<Result<_, PlanError>>()?)
        })
    }
}

/// A row of the dataset as a task.
fn seed(row: &PlacedRow) -> Result<Arc<Task>, PlanError> {
    let PlacedRow { problem, row, place } = row;
    let verifier = match &row.oracle {
        Question::Math { gold } => Verifier::Answer(gold.clone()),
        Question::Script { .. } | Question::Reference { .. } | Question::LiveCodeBench { .. } => {
            Verifier::Row(Box::new(row.clone()))
        }
        other => {
            let kind = other.kind().name();
            let detail = format!("row {place} of the dataset is a problem of type {kind}: math and code are valid");
            return Err(PlanError::Other(detail));
        }
    };
    let question = match row.oracle.starter_code() {
        Some(code) => format!("{}\n\nStart with this code:\n\n{code}", row.question),
        None => row.question.clone(),
    };
    Ok(Arc::new(Task { problem: *problem, question, verifier }))
}

/// A problem of an earlier step, which is in the view, as a task.
fn joined(view: &StepView, problem: ProblemId) -> Result<Arc<Task>, PlanError> {
    let values = view.problems.get(&problem).map(|record| record.values.clone());
    let (question, verifier) = match values.map(serde_json::from_value).transpose()? {
        Some(Values::Math { question, answer }) => (question, Verifier::Answer(answer)),
        Some(Values::Code { question, entry_point: Some(entry_point), tests: Some(tests), .. }) => {
            (question, Verifier::Generated(Generated { entry_point, tests }))
        }
        _ => {
            return Err(PlanError::Other(format!("problem {problem} is not a task with a verifier")));
        }
    };
    Ok(Arc::new(Task { problem, question, verifier }))
}

fn missing(row: u32) -> PlanError {
    PlanError::Other(format!("row {row} of the dataset is not in the view"))
}

/// What a run remembers between steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) members: Vec<Member>,
    /// The tasks that joined the growing set, oldest first.
    pub(super) pool: Pool,
}

impl Memory {
    /// The memory of a run that has not begun.
    pub(super) fn new(members: Vec<Member>) -> Self {
        Self { members, pool: Pool::empty() }
    }
}
