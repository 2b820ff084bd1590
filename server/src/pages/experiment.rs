//! `/experiments/{id}`: an experiment with its runs by arm.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_store::{
    experiments::{self, Experiment},
    goalposts,
    page::{Order, Window},
    runs::{self, Run, RunFilter, RunSort},
};
use serde::Serialize;
use uuid::Uuid;

use super::{
    compare,
    layout::{Layout, Section},
    view::View,
};
use crate::{api::Api, api_error::ApiError, goalposts::RUNS as RUNS_OF_MAP};

/// Maximum runs shown; the list of runs has all.
const RUNS: u32 = 300;

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
    arms: Vec<Arm>,
    /// Whether there are more runs.
    more: bool,
    /// The runs whose checkpoints attempted goalposts, as many as a map can show.
    #[serde(skip)]
    measured: String,
}

impl ExperimentPage {
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
) -> Result<HttpResponse, ApiError> {
    let db = api.store.pool();
    let experiment = experiments::find(db, *id).await?;
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
        arms,
        more: page.next.is_some(),
        measured: measured.iter().map(Uuid::to_string).collect::<Vec<_>>().join(","),
    })
}
