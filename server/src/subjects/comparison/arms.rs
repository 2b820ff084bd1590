//! Curves of runs, their latest values, and their cost: one for each run, or one for each arm with a band over its seeds.

use lyceum_core::compute::compute_account;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Expense;
use lyceum_store::runs::RunDetail;
use lyceum_store::{members, metrics, steps};
use serde::Serialize;

use super::Compared;
use super::alignment::Over;
use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::format::{capital, of_unit, words};
use crate::frame::steps::curve;
use crate::lab::Lab;

/// The curves of one metric. Those of arms are over steps.
pub(super) fn figure(metric: &str, unit: &'static str, runs: &[Compared], by_arm: bool, over: Over) -> Figure {
    let over = if by_arm { Over::Steps } else { over };
    let of = |run: &Compared| {
        let curve = curve(&run.rows, run.place(metric)?, &run.label);
        let progress = run.progress.as_ref().filter(|_| !by_arm);
        Some(progress.map_or(curve.clone(), |progress| progress.align(curve)))
    };
    let series: Vec<Series> = if by_arm {
        arms(runs).into_iter().filter_map(|arm| arm_curve(&arm, of)).collect()
    } else {
        runs.iter().filter_map(of).collect()
    };
    Figure {
        id: format!("metric-{metric}"),
        title: capital(&words(metric)),
        x: over.axis().to_owned(),
        continuous: over != Over::Steps,
        y: unit.to_owned(),
        unit,
        range: is_share(unit, &series).then_some([0.0, 1.0]),
        series,
        ..Figure::default()
    }
}

/// Whether curves of this unit are shares, from 0 to 1.
fn is_share(unit: &str, series: &[Series]) -> bool {
    let values = series.iter().flat_map(|series| &series.points).filter_map(|(_, value)| *value);
    unit == "share" && values.into_iter().all(|value| (0.0..=1.0).contains(&value))
}

/// Groups runs that differ only by seed, in the order of the first of each group.
pub(super) fn arms(runs: &[Compared]) -> Vec<Vec<&Compared>> {
    grouped(runs, |run| (&run.detail.run.arm, &run.detail.run.seed))
}

/// Groups items of equal arms and different seeds. A run and its fork have one arm and one seed: each is in a group of its
/// own.
fn grouped<'r, T, A: PartialEq, S: PartialEq>(runs: &'r [T], place: impl Fn(&'r T) -> (A, S)) -> Vec<Vec<&'r T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for run in runs {
        let (arm, seed) = place(run);
        let fits =
            |group: &&mut Vec<&'r T>| place(group[0]).0 == arm && group.iter().all(|other| place(other).1 != seed);
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

fn arm_curve(arm: &[&Compared], of: impl Fn(&Compared) -> Option<Series>) -> Option<Series> {
    let curves: Vec<Series> = arm.iter().filter_map(|run| of(run)).collect();
    if let [_] = curves[..] {
        return curves.into_iter().next();
    }
    let more = curves.len().checked_sub(1)?;
    let seeds = if more == 1 { "seed" } else { "seeds" };
    let name = format!("{} and {more} more {seeds}", curves[0].name);
    Some(over_seeds(name, &curves))
}

/// The mean of several curves at their common points, with a band of one standard deviation (n − 1) to either side.
fn over_seeds(name: String, curves: &[Series]) -> Series {
    let mut places: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (mut points, mut band) = (Vec::new(), Vec::new());
    for x in places {
        let at = |curve: &Series| {
            let place = curve.points.binary_search_by(|(other, _)| other.total_cmp(&x)).ok()?;
            curve.points[place].1
        };
        let values: Vec<f64> = curves.iter().filter_map(at).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        points.push((x, (!values.is_empty()).then_some(mean)));
        if values.len() > 1 {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            band.push((x, mean - variance.sqrt(), mean + variance.sqrt()));
        }
    }
    Series { name, style: Style::Bold, points, band, ..Series::default() }
}

/// Values of one metric, a column for each run.
#[derive(Serialize)]
pub(super) struct Finals {
    pub(super) metric: String,
    #[serde(skip)]
    unit: &'static str,
    pub(super) values: Vec<Option<f64>>,
    /// What each differs by from the baseline's, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deltas: Vec<Option<f64>>,
}

impl Finals {
    pub(super) fn of(metric: &str, unit: &'static str, values: Vec<Option<f64>>, baseline: Option<usize>) -> Self {
        let base = baseline.map(|place| values[place]);
        let deltas = base.map(|base| values.iter().map(|value| Some((*value)? - base?)).collect());
        Self { metric: metric.to_owned(), unit, deltas: deltas.unwrap_or_default(), values }
    }

    pub(super) fn value(&self, column: &usize) -> String {
        let value = self.values.get(*column).copied().flatten();
        value.map_or_else(|| "–".to_owned(), |value| of_unit(&value, self.unit))
    }

    /// The difference in a column, with its sign; none for the baseline itself.
    pub(super) fn delta(&self, column: &usize) -> Option<String> {
        let delta = (*self.deltas.get(*column)?)?;
        let shown = of_unit(&delta.abs(), self.unit);
        Some(match delta {
            0.0 => "=".to_owned(),
            0.0.. => format!("+{shown}"),
            _ => format!("−{shown}"),
        })
    }
}

/// The account of the steps that a run did itself: a fork leaves out those that it took over. Values per adapter are divided
/// by the number of living adapters.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    /// Living adapters.
    pub(crate) adapters: i64,
    /// Finished steps.
    pub(crate) steps: usize,
    /// Proposals and attempts per adapter.
    pub(crate) rollouts: Option<f64>,
    /// Tokens generated per adapter.
    pub(crate) completion_tokens: Option<f64>,
    /// Tokens learned from per adapter.
    pub(crate) learned_tokens: Option<f64>,
    /// Updates per adapter.
    pub(crate) updates: Option<f64>,
    /// Median wall-clock time of a step, in seconds, without the first five.
    pub(crate) median_step_seconds: Option<f64>,
    pub(crate) adapter_steps_per_hour: Option<f64>,
}

impl Account {
    /// The account of `run`.
    pub(crate) async fn of(lab: &Lab, run: &RunDetail) -> Result<Self, ApiError> {
        let (db, id) = (lab.store.pool(), ExecutionId(run.run.id));
        let (adapters, _) = members::lives(db, id).await?;
        let summed = [
            Expense::Attempts,
            Expense::Proposals,
            Expense::CompletionTokens,
            Expense::LearnedTokens,
            Expense::Updates,
        ];
        let places = summed.map(|expense| lab.registry.expense_in(expense, &run.metrics));
        let recorded: Vec<usize> = places.iter().flatten().copied().collect();
        let first = run.run.forked_at_step.unwrap_or_default().max(0).cast_unsigned();
        let mut sums = metrics::sums(db, id, &recorded, first).await?.into_iter();
        let by_adapter = places.map(|place| {
            let sum = place.and_then(|_| sums.next().flatten())?;
            (adapters > 0).then(|| sum / adapters as f64)
        });
        let [attempts, proposals, completion_tokens, learned_tokens, updates] = by_adapter;
        let seconds = steps::seconds(db, id).await?;
        let steps = u32::try_from(run.run.steps).unwrap_or_default();
        let account = compute_account(&seconds, u32::try_from(adapters).unwrap_or_default(), steps);
        Ok(Self {
            adapters,
            steps: seconds.len(),
            rollouts: attempts.zip(proposals).map(|(attempts, proposals)| attempts + proposals),
            completion_tokens,
            learned_tokens,
            updates,
            median_step_seconds: account.as_ref().map(|account| account.median_step_seconds),
            adapter_steps_per_hour: account.map(|account| account.adapter_steps_per_hour),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_are_never_averaged() {
        let runs = [("a", 1), ("a", 2), ("a", 1), ("b", 1), ("a", 3), ("a", 1)];
        let groups = grouped(&runs, |run| *run);
        assert_eq!(groups, [vec![&("a", 1), &("a", 2), &("a", 3)], vec![&("a", 1)], vec![&("b", 1)], vec![&("a", 1)]]);
    }

    #[test]
    fn the_axis_of_shares_ends_at_one() {
        let series = |value| Series { points: vec![(0.0, Some(value)), (1.0, None)], ..Series::default() };
        assert!(is_share("share", &[series(1.0), series(0.0)]));
        assert!(!is_share("share", &[series(1.5)]), "it would be cut off");
        assert!(!is_share("nats", &[series(0.5)]));
    }

    #[test]
    fn seeds_become_a_mean_and_a_band() {
        let curve = |points: &[(f64, Option<f64>)]| Series { points: points.to_vec(), ..Series::default() };
        let seeds =
            [curve(&[(0.0, Some(1.0)), (1.0, Some(5.0)), (2.0, None)]), curve(&[(0.0, Some(3.0)), (2.0, None)])];
        let arm = over_seeds("arm".to_owned(), &seeds);
        assert_eq!(arm.points, [(0.0, Some(2.0)), (1.0, Some(5.0)), (2.0, None)]);
        assert_eq!(arm.band, [(0.0, 2.0 - 2f64.sqrt(), 2.0 + 2f64.sqrt())]);
    }

    #[test]
    fn values_are_compared_with_those_of_the_baseline() {
        let row = Finals::of("m", "", vec![Some(0.5), Some(0.75), None, Some(0.25)], Some(0));
        let shown = [0, 1, 2, 3].map(|column| row.delta(&column));
        assert_eq!(shown.each_ref().map(Option::as_deref), [Some("="), Some("+0.25"), None, Some("−0.25")]);
        let without = Finals::of("m", "", vec![None, Some(0.75)], Some(0));
        assert_eq!(without.delta(&1), None, "the baseline has no value");
        assert_eq!(Finals::of("m", "", vec![Some(0.5)], None).delta(&0), None);
    }
}
