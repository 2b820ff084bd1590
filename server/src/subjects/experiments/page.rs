//! `/experiments/{id}`: an experiment with its runs by arm.

mod sweep;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_core::statistics::SequentialTest;
use lyceum_store::experiments::{self, Experiment};
use lyceum_store::goalposts;
use lyceum_store::runs::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::sweep::SweepView;
use super::arms::{Arm, Arms, Beside, rule};
use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::format::counted;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::goalposts::RUNS as RUNS_OF_MAP;
use crate::subjects::lab::column::Column;
use crate::subjects::lab::overlay::RUNS;
use crate::subjects::lab::parallel::Parallel;

/// Percentage points to which the interval of a difference is to be narrowed, unless the address says otherwise.
const WITHIN: f64 = 2.0;

/// What the tables of sweeps show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExperimentFilter {
    /// Names of columns, separated by commas.
    #[schemars(length(max = 1000))]
    columns: Option<String>,
    /// Percentage points to which the interval of a difference is to be narrowed.
    #[schemars(range(min = 0.1, max = 50.0))]
    within: Option<f64>,
}

#[derive(Template, Serialize)]
#[template(path = "experiments/page.html")]
struct ExperimentPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    experiment: Experiment,
    /// Its sweeps, the newest first.
    sweeps: Vec<SweepView>,
    #[serde(skip)]
    columns: String,
    arms: Vec<Arm>,
    /// Every other arm compared with the first one.
    comparisons: Vec<Beside>,
    #[serde(skip)]
    figure: Figure,
    #[serde(skip)]
    within: f64,
    #[serde(skip)]
    view: View,
    /// Whether there are more runs.
    more: bool,
    /// The runs whose checkpoints attempted goalposts, as many as a map can show.
    #[serde(skip)]
    measured: String,
}

impl ExperimentPage {
    /// Whether a sweep may begin runs.
    fn is_going_on(&self) -> bool {
        self.sweeps.iter().any(SweepView::is_going_on)
    }

    /// The arms with their places, from 1, and their differences from the first one.
    fn beside(&self) -> Vec<(usize, &Arm, Option<&Beside>)> {
        let of = |place: usize| self.comparisons.iter().find(|one| one.place == place);
        let arms = (1..).zip(&self.arms);
        arms.map(|(place, arm)| (place, arm, of(place))).collect()
    }

    /// The data of the chart.
    fn curves(&self) -> String {
        Figure::island(std::slice::from_ref(&self.figure))
    }

    fn rule(&self) -> Option<SequentialTest> {
        rule(&self.experiment)
    }

    /// The hidden fields of the form for the precision.
    fn kept(&self) -> Vec<(String, String)> {
        self.view.kept(&["within"])
    }

    fn parallels(&self) -> Vec<&Parallel> {
        self.sweeps.iter().filter_map(|sweep| sweep.parallel.as_ref()).collect()
    }

    /// The data of the drawings.
    fn island(&self) -> String {
        Parallel::island(&self.parallels())
    }

    /// The runs to compare, of every arm in turn, as many as a chart can show.
    fn ids(&self) -> String {
        let arms: Vec<&[Run]> = self.arms.iter().map(|arm| &arm.runs[..]).collect();
        let runs = in_turn(&arms).take(RUNS);
        runs.map(|run| run.id.to_string()).collect::<Vec<_>>().join(",")
    }

    /// Why the comparison is not of all runs, if it is not.
    fn left_out(&self) -> Option<String> {
        let runs: usize = self.arms.iter().map(|arm| arm.runs.len()).sum();
        let left_out = runs.checked_sub(RUNS).filter(|left_out| *left_out > 0)?;
        let mut told = format!("Compare takes {} runs, of every arm in turn; {left_out}", RUNS);
        told.push_str(if self.more { " and all after these are left out" } else { " are left out" });
        if let Some(arms) = self.arms.len().checked_sub(RUNS).filter(|arms| *arms > 0) {
            told.push_str(&format!(", among them all of {}", counted(&(arms as i64), "arm")));
        }
        told.push('.');
        Some(told)
    }
}

/// The first of every group, then the second of every group, and so on.
fn in_turn<'g, T>(groups: &[&'g [T]]) -> impl Iterator<Item = &'g T> {
    let longest = groups.iter().map(|group| group.len()).max().unwrap_or_default();
    (0..longest).flat_map(move |place| groups.iter().filter_map(move |group| group.get(place)))
}

#[get("/experiments/{id}")]
pub(crate) async fn show_one_experiment(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExperimentId>,
    filters: Filters<ExperimentFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let experiment = experiments::find(db, *id).await?;
    let within = filters.0.within.unwrap_or(WITHIN);
    let columns = filters.0.columns.unwrap_or_else(|| sweep::COLUMNS.to_owned());
    let chosen =
        Column::parse_all(&columns).map_err(|detail| ApiError::invalid_query(vec![("columns".to_owned(), detail)]))?;
    let sweeps = SweepView::of(db, *id, &chosen).await?;
    let found = Arms::load(db, *id).await?;
    let measured = goalposts::runs_of_experiment(db, *id, RUNS_OF_MAP as u32).await?;
    view.show(&ExperimentPage {
        layout: view.layout(experiment.name.clone(), Section::Experiments),
        comparisons: found.beside(within / 100.0, rule(&experiment)),
        figure: found.figure(),
        within,
        view: view.clone(),
        experiment,
        sweeps,
        columns,
        more: found.more,
        arms: found.arms,
        measured: measured.iter().map(Uuid::to_string).collect::<Vec<_>>().join(","),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_has_its_turn() {
        let arms: [&[u32]; 3] = [&[1, 2, 3, 4], &[5], &[6, 7]];
        let chosen: Vec<u32> = in_turn(&arms).take(6).copied().collect();
        assert_eq!(chosen, [1, 5, 6, 2, 7, 3]);
        assert_eq!(in_turn::<u32>(&[]).count(), 0);
    }
}
