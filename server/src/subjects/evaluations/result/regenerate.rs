//! The page of a regeneration: the recorded sample and the new one, side by side.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::id::{ExecutionId, WorkId};
use lyceum_core::recipe::{RegenerateResult, RegeneratedSample};
use lyceum_core::work::WorkKey;
use lyceum_store::{StoreError, work};
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::frame::layout::Layout;
use crate::frame::text::{Excerpt, SHOWN, excerpt, inert};
use crate::frame::view::View;

#[derive(Template, Serialize)]
#[template(path = "evaluations/regenerate.html")]
struct RegeneratePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    /// The workers that drew the sample first, and again.
    workers: [Option<String>; 2],
    #[serde(skip)]
    found: Option<RegenerateResult>,
}

impl RegeneratePage {
    fn text(&self, sample: &RegeneratedSample) -> Excerpt {
        excerpt(&sample.text, SHOWN)
    }

    /// The part of a text where the two differ first.
    fn around(&self, sample: &RegeneratedSample, character: &u32) -> Excerpt {
        let start = (*character as usize).saturating_sub(20);
        let text: String = sample.text.chars().skip(start).take(60).collect();
        excerpt(&text, SHOWN)
    }

    fn samples<'r>(&self, found: &'r RegenerateResult) -> [(&'static str, &'r RegeneratedSample); 2] {
        [("Recorded", &found.recorded), ("Again", &found.again)]
    }

    fn first_worker(&self) -> String {
        named(self.workers[0].as_deref())
    }

    fn second_worker(&self) -> String {
        named(self.workers[1].as_deref())
    }
}

pub(super) async fn show(view: &View, db: &PgPool, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let found = result.and_then(|result| RegenerateResult::deserialize(result).ok());
    let again = WorkId::of(ExecutionId(frame.line.evaluation.id), &WorkKey::new(0, "regenerate"));
    let workers = match &found {
        Some(found) => [worker(db, found.item).await?, worker(db, again).await?],
        None => [None, None],
    };
    view.show(&RegeneratePage { layout: frame.layout(view), workers, found, frame })
}

fn named(worker: Option<&str>) -> String {
    worker.map_or_else(|| "an unknown worker".to_owned(), inert)
}

/// The worker that did an item.
async fn worker(db: &PgPool, item: WorkId) -> Result<Option<String>, ApiError> {
    match work::find(db, item).await {
        Ok(detail) => Ok(detail.item.worker),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
