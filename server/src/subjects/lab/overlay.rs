//! The held-out curves of ticked runs, in one chart for each way in which they were measured.

use lyceum_store::runs::{self, Outcome};
use sqlx::PgPool;
use uuid::Uuid;

use super::row::interval_of_base;
use crate::api_error::ApiError;
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::format;

/// Maximum number of runs that are drawn or compared together.
pub(crate) const RUNS: usize = 12;

/// The ids in the address.
///
/// # Errors
/// What is wrong with them.
pub(super) fn ticked(text: &str) -> Result<Vec<Uuid>, String> {
    let mut ids: Vec<Uuid> = Vec::new();
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let id = id.parse().map_err(|_| format!("`{id}` is no id of a run"))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0..=RUNS => Ok(ids),
        many => Err(format!("{many} runs are too many; at most {RUNS} are drawn")),
    }
}

/// The x axis of accuracies, and the colours of their curves.
pub(crate) struct Axis<'a> {
    pub(crate) label: &'static str,
    /// Where a run was after some steps; none where that is unknown.
    pub(crate) at: &'a dyn Fn(Uuid, i32) -> Option<f64>,
    /// The place of a run's colour, if runs share colours.
    pub(crate) colour: &'a dyn Fn(Uuid) -> Option<usize>,
}

impl Axis<'_> {
    pub(super) const STEPS: Self = Self { label: "step", at: &|_, step| Some(f64::from(step)), colour: &|_| None };
}

/// Curves over one another.
#[derive(Default)]
pub(crate) struct Overlay {
    pub(crate) figures: Vec<Figure>,
    /// The names of runs that have nothing to draw.
    pub(super) unmeasured: Vec<String>,
}

impl Overlay {
    pub(crate) async fn of(db: &PgPool, ids: &[Uuid], axis: &Axis<'_>) -> Result<Self, ApiError> {
        if ids.is_empty() {
            return Ok(Self::default());
        }
        let (names, mut outcomes) = futures::try_join!(runs::names(db, ids), runs::outcomes(db, ids))?;
        let mut ways: Vec<Vec<(String, Outcome)>> = Vec::new();
        let mut unmeasured = Vec::new();
        for id in ids {
            let Some((_, name)) = names.iter().find(|(known, _)| known == id) else {
                let detail = format!("there is no run `{id}`");
                return Err(ApiError::invalid_query(vec![("overlay".to_owned(), detail)]));
            };
            let Some(outcome) = outcomes.remove(id) else {
                unmeasured.push(name.clone());
                continue;
            };
            match ways.iter_mut().find(|way| is_alike(&way[0].1, &outcome)) {
                Some(way) => way.push((name.clone(), outcome)),
                None => ways.push(vec![(name.clone(), outcome)]),
            }
        }
        let figures = ways.iter().enumerate().map(|(place, way)| figure(place, way, axis)).collect();
        Ok(Self { figures, unmeasured })
    }
}

/// Whether both were measured on the same rows in the same way.
pub(crate) fn is_alike(one: &Outcome, other: &Outcome) -> bool {
    let way = |outcome: &Outcome| {
        let result = &outcome.result;
        (result.suite.clone(), result.row_set.clone(), result.decoding.clone())
    };
    way(one) == way(other)
}

fn figure(place: usize, way: &[(String, Outcome)], axis: &Axis<'_>) -> Figure {
    let first = &way[0].1.result;
    let curve = |(name, outcome): &(String, Outcome)| {
        let run = outcome.of_run;
        let points = outcome.steps.iter().zip(&outcome.scores);
        Series {
            name: name.clone(),
            points: points.filter_map(|(step, score)| Some(((axis.at)(run, *step)?, Some(*score)))).collect(),
            place: (axis.colour)(run),
            ..Series::default()
        }
    };
    let curves: Vec<Series> = way.iter().map(curve).collect();
    let last = curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| *x).fold(0.0, f64::max);
    let series = of_base(&way[0].1, last).into_iter().chain(curves).collect();
    Figure {
        id: format!("overlay-{place}"),
        title: format!("Held-out accuracy: {}", format::suite_title(&first.of_suite)),
        note: format!(
            "pass@1 on the same {} problems, asked in the same way. The band is the interval of 95 % of the base.",
            first.rows
        ),
        x: axis.label.to_owned(),
        continuous: axis.label != Axis::STEPS.label,
        y: "solved".to_owned(),
        unit: "share",
        exact: true,
        series,
        width: 1,
        ..Figure::default()
    }
}

/// The base's accuracy with its interval of 95 %, as a line up to `last`; none if `outcome` has none.
pub(crate) fn of_base(outcome: &Outcome, last: f64) -> Option<Series> {
    let result = &outcome.result;
    let base = result.reference.filter(|_| result.reference_step.is_none())?;
    let ends = [0.0, if last > 0.0 { last } else { 1.0 }];
    let band = interval_of_base(base, result.rows).into_iter();
    Some(Series {
        name: format!("base ({})", result.base_model),
        style: Style::Dashed,
        colour: Colour::Muted,
        points: ends.map(|x| (x, Some(base))).into(),
        band: band.flat_map(|band| ends.map(|x| (x, band.low, band.high))).collect(),
        ..Series::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticked_runs_are_named_once_and_not_too_many() {
        let ids: Vec<String> = (1..=13).map(|id| Uuid::from_u128(id).to_string()).collect();
        assert_eq!(ticked(&format!("{0},{0},", ids[0])), Ok(vec![Uuid::from_u128(1)]));
        assert!(ticked("x").unwrap_err().contains("`x`"));
        assert!(ticked(&ids.join(",")).unwrap_err().contains("at most 12"));
    }
}
