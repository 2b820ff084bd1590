//! The result of a frozen-side evaluation: the matrix and its trends.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{posed::Posed, trend};
use crate::{
    csv::{Csv, maybe},
    evaluations::{FrozenSideParameters, FrozenVersion, Trend},
    wilson::Interval,
};

/// For each problem of a teacher, how often a student solved it and how often it tried; `None` before it has.
pub(super) type Rates = Vec<Option<(u64, u64)>>;

/// The matrix of solve rates: students in columns, teachers in rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenSideResult {
    /// The versions that solve.
    pub students: Vec<FrozenVersion>,
    /// The versions that propose, and what they proposed.
    pub teachers: Vec<FrozenTeacher>,
    /// The cells, by teacher and then by student.
    pub cells: Vec<FrozenCell>,
    /// The difference between the students of the last and of the first step on the same problems; `None` with students
    /// of one step, or before all cells are complete.
    pub along_students: Option<Trend>,
    /// The difference between the problems of the teachers of the last and of the first step, attempted by the same
    /// students; `None` with teachers of one step, or before all cells are complete.
    pub along_teachers: Option<Trend>,
}

/// A teacher version and its proposals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenTeacher {
    #[serde(flatten)]
    pub version: FrozenVersion,
    /// Proposals made for this evaluation.
    pub proposed: u32,
    /// Valid ones among them.
    pub valid: u32,
    /// Problems that were attempted: the first valid ones.
    pub problems: u32,
    /// Different problems among those.
    pub distinct: u32,
}

/// How a student version does on a teacher version's problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenCell {
    /// The row: a position among the teachers.
    pub teacher: u32,
    /// The column: a position among the students.
    pub student: u32,
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that solved their problem.
    pub solved: u64,
    /// Share of attempts that solved; `None` without attempts.
    pub solve_rate: Option<f64>,
    /// Lower end of its 95 % interval ([`Interval::clustered`]); the attempts at the same problem are a cluster.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl FrozenSideResult {
    pub(super) fn new(parameters: &FrozenSideParameters, posed: &[Posed], rates: &[Vec<Rates>]) -> Self {
        let teachers = parameters
            .teachers
            .iter()
            .zip(posed)
            .map(|(version, posed)| FrozenTeacher {
                version: version.clone(),
                proposed: posed.asked,
                valid: posed.valid,
                problems: posed.problems.len() as u32,
                distinct: posed.distinct(),
            });
        let rows = (0..).zip(rates.iter().zip(posed));
        let cells = rows.flat_map(|(teacher, (rates, posed))| {
            let columns = (0..).zip(rates);
            columns.map(move |(student, rates)| FrozenCell::new(teacher, student, rates, &posed.clusters))
        });
        let is_complete = rates.iter().flatten().flatten().all(Option::is_some);
        let (along_students, along_teachers) = match is_complete {
            true => (
                trend::along_students(parameters, posed, rates),
                trend::along_teachers(parameters, posed, rates),
            ),
            false => (None, None),
        };
        Self {
            students: parameters.students.clone(),
            teachers: teachers.collect(),
            cells: cells.collect(),
            along_students,
            along_teachers,
        }
    }

    pub fn cell(&self, teacher: usize, student: usize) -> Option<&FrozenCell> {
        self.cells.get(teacher * self.students.len() + student)
    }

    /// Whether rates rise along the students and fall along the teachers, both beyond their intervals. `None` as long
    /// as one of the trends is missing.
    pub fn is_arms_race(&self) -> Option<bool> {
        let (students, teachers) = (self.along_students.as_ref()?, self.along_teachers.as_ref()?);
        Some(students.low > 0.0 && teachers.high < 0.0)
    }

    /// The matrix as CSV, one line per cell.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(&[
            "teacher_run",
            "teacher",
            "teacher_step",
            "student_run",
            "student",
            "student_step",
            "problems",
            "distinct_problems",
            "attempts",
            "solved",
            "solve_rate",
            "low",
            "high",
        ]);
        for cell in &self.cells {
            let (Some(teacher), Some(student)) = (
                self.teachers.get(cell.teacher as usize),
                self.students.get(cell.student as usize),
            ) else {
                continue;
            };
            csv.row(&[
                teacher.version.run.to_string(),
                teacher.version.name.clone(),
                teacher.version.step.to_string(),
                student.run.to_string(),
                student.name.clone(),
                student.step.to_string(),
                teacher.problems.to_string(),
                teacher.distinct.to_string(),
                cell.attempts.to_string(),
                cell.solved.to_string(),
                maybe(cell.solve_rate),
                maybe(cell.low),
                maybe(cell.high),
            ]);
        }
        csv.into_text()
    }
}

impl FrozenCell {
    fn new(teacher: u32, student: u32, rates: &Rates, clusters: &[usize]) -> Self {
        let mut by_cluster: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for (solves, cluster) in rates.iter().zip(clusters) {
            let (solved, attempts) = solves.unwrap_or_default();
            let sum = by_cluster.entry(*cluster).or_default();
            sum.0 += solved;
            sum.1 += attempts;
        }
        let sums: Vec<(u64, u64)> = by_cluster.into_values().collect();
        let (solved, attempts) = sums
            .iter()
            .fold((0, 0), |(solved, attempts), (more, of)| (solved + more, attempts + of));
        let interval = Interval::clustered(&sums, Interval::Z_95);
        Self {
            teacher,
            student,
            attempts,
            solved,
            solve_rate: (attempts > 0).then(|| solved as f64 / attempts as f64),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        }
    }
}
