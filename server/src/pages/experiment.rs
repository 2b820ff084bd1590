//! `/experiments/{id}`: an experiment with its runs by arm.

mod sweep;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_store::{
    experiments::{self, Experiment},
    goalposts,
    page::{Order, Window},
    runs::{self, Run, RunFilter, RunSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::sweep::SweepView;
use super::{
    compare,
    filters::Filters,
    layout::{Layout, Section},
    parallel::Parallel,
    runs::Column,
    view::View,
};
use crate::{api::Api, api_error::ApiError, goalposts::RUNS as RUNS_OF_MAP};

/// Maximum runs shown; the list of runs has all.
const RUNS: u32 = 300;

/// What the tables of sweeps show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExperimentFilter {
    /// Names of columns, separated by commas.
    #[schemars(length(max = 1000))]
    columns: Option<String>,
}

/// Runs that differ only by seed.
#[derive(Debug, Serialize)]
struct Arm {
    arm: String,
    runs: Vec<Run>,
}

#[derive(Template, Serialize)]
#[template(path = "experiment.html")]
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

    fn parallels(&self) -> Vec<&Parallel> {
        self.sweeps.iter().filter_map(|sweep| sweep.parallel.as_ref()).collect()
    }

    /// The data of the drawings.
    fn island(&self) -> String {
        Parallel::island(&self.parallels())
    }

    /// The runs to compare, from all arms, as many as a chart can show.
    fn ids(&self) -> String {
        let runs = self.arms.iter().flat_map(|arm| &arm.runs).take(compare::RUNS);
        runs.map(|run| run.id.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// An experiment.
#[get("/experiments/{id}")]
pub(crate) async fn show_one_experiment(
    view: View,
    api: web::Data<Api>,
    id: web::Path<ExperimentId>,
    filters: Filters<ExperimentFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = api.store.pool();
    let experiment = experiments::find(db, *id).await?;
    let columns = filters.0.columns.unwrap_or_else(|| sweep::COLUMNS.to_owned());
    let chosen =
        Column::parse_all(&columns).map_err(|detail| ApiError::invalid_query(vec![("columns".to_owned(), detail)]))?;
    let sweeps = SweepView::of(db, *id, &chosen).await?;
    let filter = RunFilter {
        experiment: Some(*id),
        ..RunFilter::default()
    };
    let first = Window {
        limit: RUNS,
        after: None,
        order: Order::Oldest,
    };
    let page = runs::page(db, &filter, &RunSort::Age, &first).await?;
    let mut arms: Vec<Arm> = Vec::new();
    for run in page.items {
        match arms.iter_mut().find(|arm| arm.arm == run.arm) {
            Some(arm) => arm.runs.push(run),
            None => arms.push(Arm {
                arm: run.arm.clone(),
                runs: vec![run],
            }),
        }
    }
    let measured = goalposts::runs_of_experiment(db, *id, RUNS_OF_MAP as u32).await?;
    view.show(&ExperimentPage {
        layout: view.layout(experiment.name.clone(), Section::Experiments),
        experiment,
        sweeps,
        columns,
        arms,
        more: page.next.is_some(),
        measured: measured.iter().map(Uuid::to_string).collect::<Vec<_>>().join(","),
    })
}
