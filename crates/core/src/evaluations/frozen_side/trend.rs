//! How solve rates change from the first to the last step of a side.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{posed::Posed, result::Rates};
use crate::{
    evaluations::{FrozenSideParameters, FrozenVersion},
    wilson::Interval,
};

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
        Self {
            from,
            to,
            difference,
            low: difference - half,
            high: difference + half,
        }
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
    versions
        .filter(|(_, version)| version.step == step)
        .map(|(at, _)| at)
        .collect()
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
        assert!(
            (mean - 0.45).abs() < 1e-12 && (variance - 0.0275).abs() < 1e-12,
            "{mean} {variance}"
        );
        let doubled: Vec<_> = single.iter().flat_map(|value| [*value, *value]).collect();
        let (mean, twice) = clustered(&doubled).unwrap();
        assert!((mean - 0.45).abs() < 1e-12 && (twice - variance).abs() < 1e-12);
        assert_eq!(clustered(&single[..1]), None);
    }
}
