//! How much of its parents a child retains, and regains when it trains further (PopuLoRA, section 4.6).

pub use super::{PassRate, Recovery, RowCounts};

use serde::{Deserialize, Serialize};

use crate::csv::{Csv, maybe};
use crate::id::{DatasetId, ExecutionId, MemberId};

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
            SeedPoint { rate: child.rate(), recovery, recovered: recovery.as_ref().map(Recovery::is_recovered) }
        };
        let SeedPoint { rate, recovery, recovered } = seed(&RowCounts::sum(children.iter().copied()));
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

/// `operator` is also `base` or `parent`; a line without a `seed` is about all seeds. `step` counts from the snapshot,
/// `run_step` from the beginning of the parent's run.
const COLUMNS: [&str; 12] = [
    "operator",
    "snapshot",
    "task",
    "parent",
    "seed",
    "step",
    "run_step",
    "pass_rate",
    "standard_error",
    "recovery",
    "recovery_standard_error",
    "recovered",
];

impl RetentionResult {
    /// The curves of bases, parents and children.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS);
        let name = |task: usize| self.tasks.get(task).map_or("", |task| task.name.as_str());
        for (place, task) in self.tasks.iter().enumerate() {
            let mut line = |operator: &str, run_step: Option<u32>, rate: PassRate| {
                let line = Line { operator, task: place, parent: name(place), run_step, ..Line::of(rate) };
                csv.row(&line.cells());
            };
            line("base", None, task.base);
            for point in &task.curve {
                line("parent", Some(point.step), point.rate);
            }
        }
        for child in &self.children {
            for point in &child.points {
                let all = Line {
                    operator: &child.operator,
                    snapshot: Some(child.snapshot),
                    task: child.task,
                    parent: name(child.task),
                    step: Some(point.step),
                    run_step: Some(child.snapshot + point.step),
                    recovery: point.recovery,
                    recovered: point.recovered,
                    ..Line::of(point.rate)
                };
                csv.row(&all.cells());
                for (place, seed) in point.seeds.iter().enumerate() {
                    let one = Line {
                        seed: Some(place),
                        rate: seed.rate,
                        recovery: seed.recovery,
                        recovered: seed.recovered,
                        ..all
                    };
                    csv.row(&one.cells());
                }
            }
        }
        csv.into_text()
    }
}

#[derive(Clone, Copy)]
struct Line<'l> {
    operator: &'l str,
    snapshot: Option<u32>,
    task: usize,
    parent: &'l str,
    seed: Option<usize>,
    step: Option<u32>,
    run_step: Option<u32>,
    rate: PassRate,
    recovery: Option<Recovery>,
    recovered: Option<bool>,
}

impl Line<'_> {
    fn of(rate: PassRate) -> Self {
        Self {
            operator: "",
            snapshot: None,
            task: 0,
            parent: "",
            seed: None,
            step: None,
            run_step: None,
            rate,
            recovery: None,
            recovered: None,
        }
    }

    fn cells(&self) -> [String; 12] {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        [
            self.operator.to_owned(),
            text(self.snapshot),
            self.task.to_string(),
            self.parent.to_owned(),
            text(self.seed),
            text(self.step),
            text(self.run_step),
            self.rate.pass_rate.to_string(),
            self.rate.standard_error.to_string(),
            maybe(self.recovery.map(|recovery| recovery.value)),
            maybe(self.recovery.map(|recovery| recovery.standard_error)),
            text(self.recovered),
        ]
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::{DatasetId, ExecutionId, MemberId};

    #[test]
    fn the_first_step_at_the_parents_level_is_kept() {
        let counts = |correct: u32| RowCounts { n: 4, correct: vec![correct; 3] };
        let (base, parent) = (counts(0), counts(2));
        let mut child =
            ChildResult { operator: "M1".to_owned(), snapshot: 25, task: 0, recovered_at: None, points: Vec::new() };
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

    #[test]
    fn every_point_is_a_line() {
        let rate = PassRate { pass_rate: 0.5, standard_error: 0.125 };
        let recovery = Some(Recovery { value: 0.75, standard_error: 0.25 });
        let result = RetentionResult {
            tasks: vec![TaskResult {
                run: ExecutionId(Uuid::nil()),
                member: MemberId(Uuid::nil()),
                name: "solver-0".to_owned(),
                dataset: DatasetId(Uuid::nil()),
                first_row: 0,
                rows: 64,
                measured: 64,
                base: rate,
                curve: vec![ParentPoint { step: 25, rate }],
            }],
            children: vec![ChildResult {
                operator: "M1".to_owned(),
                snapshot: 25,
                task: 0,
                recovered_at: Some(5),
                points: vec![ChildPoint {
                    step: 5,
                    rate,
                    recovery,
                    recovered: Some(true),
                    seeds: vec![SeedPoint { rate, recovery: None, recovered: None }],
                }],
            }],
        };
        let csv = result.to_csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "base,,0,solver-0,,,,0.5,0.125,,,",
                "parent,,0,solver-0,,,25,0.5,0.125,,,",
                "M1,25,0,solver-0,,5,30,0.5,0.125,0.75,0.25,true",
                "M1,25,0,solver-0,0,5,30,0.5,0.125,,,",
            ]
        );
    }
}
