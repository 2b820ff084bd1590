//! `/runs/{id}`: how far a run is, where its time goes, and its curves.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use serde::Serialize;

use super::{
    layout::{Layout, Section, Tab},
    run_frame::RunFrame,
    view::View,
};
use crate::{api::Api, problem::Problem};

#[derive(Template, Serialize)]
#[template(path = "run/overview.html")]
struct RunPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
}

/// The overview of a run.
#[get("/runs/{id}")]
pub(crate) async fn show_run(
    view: View,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, Problem> {
    let run = RunFrame::load(api.store.pool(), *id, Tab::Overview).await?;
    let layout = view.layout(run.run().name.clone(), Section::Runs);
    view.show(&RunPage { layout, run })
}
