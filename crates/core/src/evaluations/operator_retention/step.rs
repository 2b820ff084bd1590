//! A step of an evaluation of operator retention.

use serde::{Deserialize, Serialize};

use super::{
    ChildResult, RetentionResult, RowCounts, TaskResult,
    children::{Child, children},
};
use crate::{
    contract::{PlanError, RunState, StepView},
    evaluations::RetentionParameters,
    kit::{Living, Progress, both, rows::Rows},
    recipes::rlvr,
    work::MemberUpdated,
};

/// What is remembered between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The children, in the order of [`children`].
    pub(super) members: Vec<Living>,
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
    ) -> Result<Self, PlanError> {
        let Memory {
            members,
            references,
            result,
        } = run.memory()?;
        Ok(Self {
            rows: Rows::new(run, view, &training.prompts, members)?,
            parameters,
            training,
            references,
            result,
        })
    }

    /// The children, each at its member's position.
    pub(super) fn children(&self) -> impl Iterator<Item = Child<'a>> + use<'a> {
        children(self.parameters)
    }

    /// Bear → measure and retrain; in step 0, measure base and parents beside it.
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
        let subjects = self
            .children()
            .flat_map(|child| child.tasks().map(move |task| (child, task)));
        let subjects: Vec<(Child<'_>, usize, &RowCounts)> = subjects
            .zip(measured)
            .map(|((child, task), counts)| (child, task, counts))
            .collect();
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
        next.artifacts
            .extend(adapters.iter().filter_map(|adapter| adapter.optimizer));
        Ok(next.holding(self.parameters.weights().chain(adapters)))
    }
}
