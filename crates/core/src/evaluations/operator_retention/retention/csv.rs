//! The curves as CSV, one line a point.

use crate::{
    csv::{Csv, maybe},
    evaluations::operator_retention::{PassRate, Recovery, RetentionResult},
};

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
                let line = Line {
                    operator,
                    task: place,
                    parent: name(place),
                    run_step,
                    ..Line::of(rate)
                };
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
    use crate::{
        evaluations::operator_retention::{ChildPoint, ChildResult, ParentPoint, SeedPoint, TaskResult},
        id::{DatasetId, ExecutionId, MemberId},
    };

    #[test]
    fn every_point_is_a_line() {
        let rate = PassRate {
            pass_rate: 0.5,
            standard_error: 0.125,
        };
        let recovery = Some(Recovery {
            value: 0.75,
            standard_error: 0.25,
        });
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
                    seeds: vec![SeedPoint {
                        rate,
                        recovery: None,
                        recovered: None,
                    }],
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
