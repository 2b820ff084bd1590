//! What an evaluation of operator retention has found.

use serde::{Deserialize, Serialize};

use crate::{
    evaluations::operator_retention::{PassRate, Recovery, RowCounts},
    id::{DatasetId, ExecutionId, MemberId},
};

/// The curves of parents and children, as far as they are measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetentionResult {
    /// The parents, each with the task that it learned.
    pub tasks: Vec<TaskResult>,
    /// The children on each of their parents' tasks, by snapshot, operator and task.
    pub children: Vec<ChildResult>,
}

/// A parent's task: rows of a dataset that it was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The parent's run.
    pub run: ExecutionId,
    /// The parent.
    pub member: MemberId,
    /// Its name in the run.
    pub name: String,
    pub dataset: DatasetId,
    /// The place of the task's first row in the dataset.
    pub first_row: u32,
    /// Rows of the task.
    pub rows: u32,
    /// Rows that are measured.
    pub measured: u32,
    pub base: PassRate,
    /// The parent, at steps of its run.
    pub curve: Vec<ParentPoint>,
}

/// A parent at a step of its run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParentPoint {
    /// Finished steps of the run.
    pub step: u32,
    #[serde(flatten)]
    pub rate: PassRate,
}

/// The children of an operator at a snapshot, one for each seed, on the task of one parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildResult {
    pub operator: String,
    /// The step of the parents' runs after which the children were made.
    pub snapshot: u32,
    /// The task: a position among the tasks.
    pub task: usize,
    /// The first measured step of retraining at which they were at their parent's level.
    pub recovered_at: Option<u32>,
    /// Their curve.
    pub points: Vec<ChildPoint>,
}

/// Children after some steps of retraining.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildPoint {
    /// Steps of retraining.
    pub step: u32,
    /// The pass rate of all seeds together.
    #[serde(flatten)]
    pub rate: PassRate,
    /// Their recovery; none if the parent is not better than the base.
    pub recovery: Option<Recovery>,
    /// Whether they are at their parent's level.
    pub recovered: Option<bool>,
    /// Each seed's child.
    pub seeds: Vec<SeedPoint>,
}

/// One seed's child after some steps of retraining.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedPoint {
    #[serde(flatten)]
    pub rate: PassRate,
    pub recovery: Option<Recovery>,
    /// Whether it is at its parent's level.
    pub recovered: Option<bool>,
}

impl ChildResult {
    /// Adds the children's answers after `step` steps of retraining, one count for each seed.
    pub fn measure(&mut self, step: u32, children: &[&RowCounts], parent: &RowCounts, base: &RowCounts) {
        let seed = |child: &RowCounts| {
            let recovery = Recovery::of(child, parent, base);
            SeedPoint {
                rate: child.rate(),
                recovery,
                recovered: recovery.as_ref().map(Recovery::is_recovered),
            }
        };
        let SeedPoint {
            rate,
            recovery,
            recovered,
        } = seed(&RowCounts::sum(children.iter().copied()));
        if recovered == Some(true) {
            self.recovered_at.get_or_insert(step);
        }
        self.points.push(ChildPoint {
            step,
            rate,
            recovery,
            recovered,
            seeds: children.iter().map(|child| seed(child)).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_at_the_parents_level_is_kept() {
        let counts = |correct: u32| RowCounts {
            n: 4,
            correct: vec![correct; 3],
        };
        let (base, parent) = (counts(0), counts(2));
        let mut child = ChildResult {
            operator: "M1".to_owned(),
            snapshot: 25,
            task: 0,
            recovered_at: None,
            points: Vec::new(),
        };
        for (step, correct) in [(0, [1, 1]), (5, [1, 3]), (10, [1, 1]), (15, [3, 3])] {
            let children = correct.map(counts);
            child.measure(step, &children.each_ref(), &parent, &base);
        }
        assert_eq!(child.recovered_at, Some(5));
        let all: Vec<_> = child.points.iter().map(|point| point.recovery.unwrap().value).collect();
        assert_eq!(all, [0.5, 1.0, 0.5, 1.5]);
        let seeds: Vec<_> = child.points[1].seeds.iter().map(|seed| seed.recovered).collect();
        assert_eq!(seeds, [Some(false), Some(true)]);
        let text = serde_json::to_value(&child).unwrap();
        assert_eq!(text["points"][1]["pass_rate"], 0.5);
        assert_eq!(serde_json::from_value::<ChildResult>(text).unwrap(), child);
    }
}
