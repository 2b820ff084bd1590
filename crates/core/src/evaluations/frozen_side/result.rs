//! The result of a frozen-side evaluation: the matrix and its trends.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::plan::Posed;
use crate::csv::{Csv, maybe};
use crate::evaluations::{FrozenSideParameters, FrozenVersion};
use crate::statistics::Interval;

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
        let teachers = parameters.teachers.iter().zip(posed).map(|(version, posed)| FrozenTeacher {
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
            true => (along_students(parameters, posed, rates), along_teachers(parameters, posed, rates)),
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
            let (Some(teacher), Some(student)) =
                (self.teachers.get(cell.teacher as usize), self.students.get(cell.student as usize))
            else {
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
        let (solved, attempts) =
            sums.iter().fold((0, 0), |(solved, attempts), (more, of)| (solved + more, attempts + of));
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

// How solve rates change from the first to the last step of a side.

/// A difference of mean solve rates with its 95 % interval: normal, with a standard error that is clustered by problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The first step of the side.
    pub from: u32,
    /// The last step.
    pub to: u32,
    /// Mean solve rate at the last step less that at the first.
    pub difference: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Trend {
    fn new([from, to]: [u32; 2], difference: f64, variance: f64) -> Self {
        let half = Interval::Z_95 * variance.sqrt();
        Self { from, to, difference, low: difference - half, high: difference + half }
    }
}

/// The students of the last step against those of the first. They attempt the same problems, so differences are taken
/// by problem.
pub(super) fn along_students(
    parameters: &FrozenSideParameters,
    posed: &[Posed],
    rates: &[Vec<Rates>],
) -> Option<Trend> {
    let ends = ends(&parameters.students)?;
    let [first, last] = ends.map(|step| at(&parameters.students, step));
    let mut gains = Vec::new();
    for (teacher, posed) in posed.iter().enumerate() {
        for (problem, cluster) in posed.clusters.iter().enumerate() {
            let mean = |students: &[usize]| mean(students.iter().map(|student| &rates[teacher][*student]), problem);
            gains.push((*cluster, mean(&last)? - mean(&first)?));
        }
    }
    let (difference, variance) = clustered(&gains)?;
    Some(Trend::new(ends, difference, variance))
}

/// The problems of the teachers of the last step against those of the first, attempted by all students.
pub(super) fn along_teachers(
    parameters: &FrozenSideParameters,
    posed: &[Posed],
    rates: &[Vec<Rates>],
) -> Option<Trend> {
    let versions: Vec<FrozenVersion> = parameters.teachers.clone();
    let ends = ends(&versions)?;
    let side = |step: u32| {
        let mut of_problems = Vec::new();
        for teacher in at(&versions, step) {
            for (problem, cluster) in posed[teacher].clusters.iter().enumerate() {
                of_problems.push((*cluster, mean(rates[teacher].iter(), problem)?));
            }
        }
        clustered(&of_problems)
    };
    let ((first, of_first), (last, of_last)) = (side(ends[0])?, side(ends[1])?);
    Some(Trend::new(ends, last - first, of_first + of_last))
}

/// The first and the last step, if they differ.
fn ends(versions: &[FrozenVersion]) -> Option<[u32; 2]> {
    let steps = versions.iter().map(|version| version.step);
    let (first, last) = (steps.clone().min()?, steps.max()?);
    (first < last).then_some([first, last])
}

fn at(versions: &[FrozenVersion], step: u32) -> Vec<usize> {
    let versions = versions.iter().enumerate();
    versions.filter(|(_, version)| version.step == step).map(|(at, _)| at).collect()
}

/// The mean solve rate of students at a problem.
fn mean<'r>(students: impl Iterator<Item = &'r Rates>, problem: usize) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for rates in students {
        let (solved, attempts) = (*rates.get(problem)?)?;
        sum += solved as f64 / attempts.max(1) as f64;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

/// The mean of values, and its variance from clusters of values that are alike. `None` with fewer than two clusters.
fn clustered(values: &[(usize, f64)]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().map(|(_, value)| value).sum::<f64>() / count;
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (cluster, value) in values {
        *sums.entry(*cluster).or_default() += value - mean;
    }
    let clusters = sums.len() as f64;
    let squares: f64 = sums.values().map(|sum| sum * sum).sum();
    (sums.len() > 1).then(|| (mean, clusters / (clusters - 1.0) * squares / (count * count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_single_values_is_that_of_a_mean_and_copies_add_nothing() {
        let values = [0.1, 0.4, 0.4, 0.9];
        let single: Vec<_> = (0..).zip(values).collect();
        let (mean, variance) = clustered(&single).unwrap();
        // statistics.variance([0.1, 0.4, 0.4, 0.9]) / 4 in Python is 0.0275.
        assert!((mean - 0.45).abs() < 1e-12 && (variance - 0.0275).abs() < 1e-12, "{mean} {variance}");
        let doubled: Vec<_> = single.iter().flat_map(|value| [*value, *value]).collect();
        let (mean, twice) = clustered(&doubled).unwrap();
        assert!((mean - 0.45).abs() < 1e-12 && (twice - variance).abs() < 1e-12);
        assert_eq!(clustered(&single[..1]), None);
    }
}
