//! `/evaluations/{id}`: one evaluation and its result. Each type has a file here.

mod benchmark;
mod cross_play;
mod dataset_check;
mod goalposts;
mod majority_vote;
mod operator_retention;
mod regenerate;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::evaluations;
use lyceum_store::plan::{self, Refusal};
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use self::benchmark::SamplesFilter;
use crate::api_error::ApiError;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt, inert};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::evaluations::page::EvaluationLine;

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
        "cross_play" => cross_play::show(&view, frame),
        "dataset_check" => dataset_check::show(&view, db, frame).await,
        "frozen_side" => goalposts::show_frozen_side(&view, frame),
        "goalposts" => goalposts::show(&view, frame),
        "majority_vote" => majority_vote::show(&view, frame),
        "operator_retention" => operator_retention::show(&view, frame),
        "regenerate" => regenerate::show(&view, db, frame).await,
        _ => show_frame(&view, frame),
    }
}

/// The body that asks for a recorded sample again; `kind` is `attempt` or `problem`.
pub(crate) fn regenerate_body(kind: &str, id: &Uuid) -> String {
    json!({"spec": {"type": "regenerate", (kind): id}}).to_string()
}

/// An evaluation as `evaluation/frame.html` shows it. In the page's JSON it is the evaluation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EvaluationFrame {
    #[serde(flatten)]
    pub(crate) line: EvaluationLine,
    /// Why a server cannot plan it, if it waits to be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<Refusal>,
}

impl EvaluationFrame {
    /// Reads the evaluation `id`.
    ///
    /// # Errors
    /// 404 if there is no such evaluation.
    pub(crate) async fn load(db: &PgPool, id: ExecutionId) -> Result<Self, ApiError> {
        let evaluation = evaluations::find(db, id).await?;
        let line = EvaluationLine::of(db, vec![evaluation]).await?.into_iter().next();
        let line = line.ok_or_else(|| ApiError::not_found(format!("there is no evaluation {id}")))?;
        let refusal = plan::refusal(db, id).await?;
        Ok(Self { line, refusal })
    }

    /// The frame around its page.
    pub(crate) fn layout(&self, view: &View) -> Layout {
        let id = format::id(&self.line.evaluation.id);
        view.layout(format!("Evaluation {id}"), Section::Evaluations)
    }

    pub(crate) fn spec(&self) -> String {
        pretty(&self.line.evaluation.spec)
    }

    pub(crate) fn error(&self) -> Option<Excerpt> {
        let error = self.line.evaluation.error.as_deref();
        error.map(|error| excerpt(error, SHOWN_IN_LIST))
    }
}

fn pretty(value: &Value) -> String {
    inert(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// An evaluation of a type that this release does not know, or one of which the result cannot be read.
#[derive(Template, Serialize)]
#[template(path = "evaluations/frame.html")]
struct FramePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
}

fn show_frame(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let layout = frame.layout(view);
    view.show(&FramePage { layout, frame })
}
