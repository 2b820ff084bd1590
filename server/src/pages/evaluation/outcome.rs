//! The page of an evaluation whose result is shown as JSON.

use actix_web::HttpResponse;
use askama::Template;
use serde::Serialize;

use super::EvaluationFrame;
use crate::{
    api_error::ApiError,
    frame::{layout::Layout, view::View},
};

#[derive(Template, Serialize)]
#[template(path = "evaluation/outcome.html")]
struct OutcomePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let layout = frame.layout(view);
    view.show(&OutcomePage { layout, frame })
}
