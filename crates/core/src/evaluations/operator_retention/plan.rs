//! Steps of an evaluation of operator retention: children are born, measured and trained further.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{ChildResult, RetentionResult, RowCounts, TaskResult};
use crate::contract::{PlanError, RunState, StepView};
use crate::evaluations::{RetentionParameters, arity};
use crate::id::VersionId;
use crate::kit::rows::{Question, Rows};
use crate::kit::{Learner, Lesson, Member, Progress, both, join};
use crate::recipes::rlvr;
use crate::work::{AdapterRef, EvolvePayload, MemberUpdated};

/// What is remembered between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The children, in the order of [`children`].
    pub(super) members: Vec<Member>,
    /// What they are compared with, for each task; none before step 0 is over.
    pub(super) references: Vec<Reference>,
    /// The curves so far.
    pub(super) result: RetentionResult,
}

/// Correct answers to the measured rows of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reference {
    /// The base's.
    pub(super) base: RowCounts,
    /// The parent's, at each snapshot.
    pub(super) parents: Vec<RowCounts>,
}

/// The phases, in order.
pub(super) struct Step<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) parameters: &'a RetentionParameters,
    pub(super) training: &'a rlvr::Parameters,
    references: Vec<Reference>,
    result: RetentionResult,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a RetentionParameters,
        training: &'a rlvr::Parameters,
        memory: Memory,
    ) -> Result<Self, PlanError> {
        let Memory { members, references, result } = memory;
        Ok(Self { rows: Rows::new(run, view, &training.prompts, members)?, parameters, training, references, result })
    }

    /// The children, each at its member's position.
    pub(super) fn children(&self) -> impl Iterator<Item = Child<'a>> + use<'a> {
        children(self.parameters)
    }

    /// Births → measure and retrain; in step 0, measure base and parents alongside.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        let compared = self.compare();
        let born = self.bear();
        let trained = match born {
            Ok(()) => both(self.measure(), self.retrain()),
            Err(pause) => Err(pause),
        };
        let (compared, (measured, updated)) = both(compared, trained)?;
        if let Some((references, tasks)) = compared {
            self.open(references, tasks);
        }
        if let Some(measured) = measured {
            self.record(&measured);
        }
        self.finish(&updated)
    }

    /// What the children are compared with, unless an earlier step measured it.
    fn compare(&mut self) -> Progress<Option<(Vec<Reference>, Vec<TaskResult>)>> {
        if !self.references.is_empty() {
            return Ok(None);
        }
        let first = self.rows.draft.members.len();
        let others = self.measured_only();
        self.rows.draft.members.extend(others);
        self.refer(first).map(Some)
    }

    /// Begins the curves.
    fn open(&mut self, references: Vec<Reference>, tasks: Vec<TaskResult>) {
        self.references = references;
        self.result.tasks = tasks;
        let first = self.children().filter(|child| child.seed == 0);
        let curves = first.flat_map(|child| {
            child.tasks().map(move |task| ChildResult {
                operator: child.operator.to_owned(),
                snapshot: child.snapshot,
                task,
                recovered_at: None,
                points: Vec::new(),
            })
        });
        self.result.children = curves.collect();
    }

    /// Adds a point to every curve. `measured` has the children's answers, child by child and task by task.
    fn record(&mut self, measured: &[RowCounts]) {
        let step = self.rows.draft.run.step;
        let subjects = self.children().flat_map(|child| child.tasks().map(move |task| (child, task)));
        let subjects: Vec<(Child<'_>, usize, &RowCounts)> =
            subjects.zip(measured).map(|((child, task), counts)| (child, task, counts)).collect();
        let snapshot_of = |snapshot: u32| self.parameters.snapshots.iter().position(|known| *known == snapshot);
        for curve in &mut self.result.children {
            let own = subjects.iter().filter(|(child, task, _)| {
                (child.operator, child.snapshot, *task) == (curve.operator.as_str(), curve.snapshot, curve.task)
            });
            let seeds: Vec<&RowCounts> = own.map(|(_, _, counts)| *counts).collect();
            let reference = self.references.get(curve.task);
            let parent = snapshot_of(curve.snapshot).and_then(|place| reference?.parents.get(place));
            if let (Some(reference), Some(parent)) = (reference, parent) {
                curve.measure(step, &seeds, parent, &reference.base);
            }
        }
    }

    /// The result so far, and the state before the next step.
    fn finish(&mut self, updated: &[&MemberUpdated]) -> Progress<RunState> {
        let children = self.children().count();
        let draft = &mut self.rows.draft;
        draft.adopt(updated);
        draft.members.truncate(children);
        draft.plan.result = Some(serde_json::to_value(&self.result)?);
        let memory = Memory {
            members: std::mem::take(&mut draft.members),
            references: std::mem::take(&mut self.references),
            result: std::mem::take(&mut self.result),
        };
        let mut next = draft.run.next("", &memory)?;
        // Only the children's latest weights are needed further on.
        next.artifacts.clear();
        let adapters: Vec<_> = memory.members.iter().filter_map(|member| member.adapter).collect();
        next.artifacts.extend(adapters.iter().filter_map(|adapter| adapter.optimizer));
        Ok(next.holding(self.parameters.weights().chain(adapters)))
    }
}

/// A child of an operator at a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child<'p> {
    /// Finished steps of the parents' runs.
    pub(super) snapshot: u32,
    pub(super) operator: &'p str,
    /// Which of the operator's children it is.
    pub(super) seed: u32,
}

/// The children in the order of the members: by snapshot, operator and seed.
pub(super) fn children(parameters: &RetentionParameters) -> impl Iterator<Item = Child<'_>> {
    let RetentionParameters { snapshots, operators, seeds, .. } = parameters;
    snapshots.iter().flat_map(move |&snapshot| {
        operators.iter().flat_map(move |operator| (0..*seeds).map(move |seed| Child { snapshot, operator, seed }))
    })
}

impl Child<'_> {
    /// Its name among the members.
    pub(super) fn name(self) -> String {
        format!("{}-{}-{}", self.operator, self.snapshot, self.seed)
    }

    /// Its parents: positions among the tasks.
    pub(super) fn parents(self) -> Range<usize> {
        0..arity(self.operator).unwrap_or(0)
    }

    /// The tasks it is trained and measured on: its parents', or the first for a fresh adapter.
    pub(super) fn tasks(self) -> Range<usize> {
        0..self.parents().len().max(1)
    }
}

impl Step<'_> {
    /// Makes the children that are not born.
    fn bear(&mut self) -> Progress<()> {
        let unborn = self.children().enumerate().filter(|(place, _)| self.rows.draft.members[*place].adapter.is_none());
        let unborn: Vec<(usize, Child<'_>)> = unborn.collect();
        join(unborn, |(place, child)| self.birth(place, child)).map(drop)
    }

    fn birth(&mut self, place: usize, child: Child<'_>) -> Progress<()> {
        let parents = child.parents().map(|task| self.parent(task, child.snapshot)).collect::<Result<Vec<_>, _>>()?;
        let draft = &mut self.rows.draft;
        let (_, population) = draft.population(place)?;
        let key = draft.key("birth", u32::try_from(place).unwrap_or(u32::MAX));
        let seed = draft.seed(&key, 0);
        let to = VersionId::of(draft.members[place].id(draft.run.run), 0);
        let born = draft.evolve(&key, || EvolvePayload {
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
            operator: child.operator.to_owned(),
            parameters: BTreeMap::new(),
            parents,
            seed,
            to,
            measured: Vec::new(),
        })?;
        draft.members[place].adapter = Some(born.version);
        Ok(())
    }

    fn parent(&self, task: usize, snapshot: u32) -> Result<AdapterRef, PlanError> {
        let parent = self.parameters.tasks.get(task).and_then(|task| task.at(snapshot));
        parent.ok_or_else(|| PlanError::Other(format!("parent {task} has no weights of step {snapshot}")))
    }
}

// Trains the children further, with the settings of their parents' runs.

impl<'a> Step<'a> {
    /// Every child's update from answers to a batch of its tasks; none after the last step of retraining.
    fn retrain(&mut self) -> Progress<Vec<&'a MemberUpdated>> {
        if self.rows.draft.run.step >= self.parameters.steps {
            return Ok(Vec::new());
        }
        let training = self.training;
        let questions = self.batch()?;
        let answers = self.rows.answers(training.asking(), &questions, self.rows_of_item())?;
        let (learning, items) = (&training.learning, &training.items);
        let children = self.children().count();
        let learners = self.rows.learners(children, &answers, learning, &training.advantages);
        // Nothing but the weights is read from these updates.
        let learners: Vec<Learner> = learners.into_iter().map(|learner| learner.without_idle(learning)).collect();
        self.rows.draft.update(Lesson { learning, items }, &learners)
    }

    /// Rows of an item of answers: those of as many children as an item of updates has. Children have few rows each, and
    /// generation is quickest with many at once.
    pub(super) fn rows_of_item(&self) -> u32 {
        let items = &self.training.items;
        items.solve.saturating_mul(items.update)
    }

    /// The questions of every child's batch. Children of one seed draw the same rows of a task.
    fn batch(&mut self) -> Progress<Arc<Vec<Question>>> {
        let view = self.rows.draft.view;
        view.once("batch", || {
            let by_task = join(0..self.parameters.tasks.len(), |task| {
                let drawn = self.drawn(task);
                self.rows.read(self.parameters.tasks[task].dataset, &drawn)
            })?;
            let mut questions: Vec<Question> = by_task.into_iter().flatten().collect();
            questions.sort_by_key(|question| question.member);
            for (number, question) in (0..).zip(&mut questions) {
                question.number = number;
            }
            Ok(questions)
        })
    }

    /// The children that have this task, each with the rows that it answers in this step: a batch, or its share of one
    /// that is split between two tasks.
    fn drawn(&self, task: usize) -> Vec<(usize, u32)> {
        let (training, run) = (self.training, self.rows.draft.run);
        let rows = self.parameters.tasks[task].places();
        let draws = training.sampler.plain().unwrap_or_default();
        let own = self.children().enumerate().filter(|(_, child)| child.tasks().contains(&task));
        let drawn = own.flat_map(|(member, child)| {
            let tasks = child.tasks().len() as u32;
            // The first task of an odd batch has one row more.
            let share = (training.batch + tasks - 1 - task as u32) / tasks;
            let path = format!("rows/{task}/{}", child.seed);
            let rows = draws.draw(rows.clone(), share, run.config.seed, &path, run.step);
            rows.into_iter().map(move |row| (member, row))
        });
        drawn.collect()
    }
}
