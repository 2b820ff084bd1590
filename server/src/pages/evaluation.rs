//! `/evaluations/{id}`: one evaluation and its result. Types with a page of their own have a file here.

mod benchmark;
mod frame;
mod frozen_side;
mod goalposts;
mod operator_retention;
mod outcome;
mod regenerate;

use actix_web::{HttpResponse, get, web};
use lyceum_core::id::ExecutionId;
use serde_json::json;
use uuid::Uuid;

use self::{benchmark::SamplesFilter, frame::EvaluationFrame};
use crate::{
    api_error::ApiError,
    frame::view::{Filters, View},
    lab::Lab,
};

#[get("/evaluations/{id}")]
pub(crate) async fn show_one_evaluation(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<SamplesFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let frame = EvaluationFrame::load(db, *id).await?;
    match frame.line.kind() {
        "benchmark" => benchmark::show(&view, db, frame, filters.0).await,
        "frozen_side" => frozen_side::show(&view, frame),
        "goalposts" => goalposts::show(&view, frame),
        "operator_retention" => operator_retention::show(&view, frame),
        "regenerate" => regenerate::show(&view, db, frame).await,
        _ => outcome::show(&view, frame),
    }
}

/// The body that asks for a recorded sample again; `kind` is `attempt` or `problem`.
pub(crate) fn regenerate_body(kind: &str, id: &Uuid) -> String {
    json!({"spec": {"type": "regenerate", (kind): id}}).to_string()
}
