//! What the pages of all evaluations share: state, progress and request.

use lyceum_core::id::ExecutionId;
use lyceum_store::{
    evaluations,
    plan::{self, Refusal},
};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgPool;

use crate::{
    api_error::ApiError,
    frame::{
        format,
        layout::{Layout, Section},
        text::{Excerpt, SHOWN_IN_LIST, excerpt, inert},
        view::View,
    },
    pages::evaluations::EvaluationLine,
};

/// An evaluation as `evaluation/frame.html` shows it. In the page's JSON it is the evaluation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EvaluationFrame {
    #[serde(flatten)]
    pub(super) line: EvaluationLine,
    /// Why a server cannot plan it, if it waits to be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<Refusal>,
}

impl EvaluationFrame {
    /// Reads the evaluation `id`.
    ///
    /// # Errors
    /// 404 if there is no such evaluation.
    pub(super) async fn load(db: &PgPool, id: ExecutionId) -> Result<Self, ApiError> {
        let evaluation = evaluations::find(db, id).await?;
        let line = EvaluationLine::of(db, vec![evaluation]).await?.into_iter().next();
        let line = line.ok_or_else(|| ApiError::not_found(format!("there is no evaluation {id}")))?;
        let refusal = plan::refusal(db, id).await?;
        Ok(Self { line, refusal })
    }

    /// The frame around its page.
    pub(super) fn layout(&self, view: &View) -> Layout {
        let id = format::id(&self.line.evaluation.id);
        view.layout(format!("Evaluation {id}"), Section::Evaluations)
    }

    pub(super) fn spec(&self) -> String {
        pretty(&self.line.evaluation.spec)
    }

    /// Its result as JSON.
    pub(super) fn outcome(&self) -> Option<String> {
        self.line.evaluation.result.as_ref().map(pretty)
    }

    pub(super) fn error(&self) -> Option<Excerpt> {
        let error = self.line.evaluation.error.as_deref();
        error.map(|error| excerpt(error, SHOWN_IN_LIST))
    }
}

fn pretty(value: &Value) -> String {
    inert(&serde_json::to_string_pretty(value).unwrap_or_default())
}
