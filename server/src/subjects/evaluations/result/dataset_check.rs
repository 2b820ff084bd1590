//! The page of a check of a dataset: how many of its rows can be used, and those that cannot.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::recipe::DatasetCheckResult;
use lyceum_core::recipe::dataset_check::RowScore;
use lyceum_store::datasets::{self, BadRow, Dataset};
use lyceum_store::page::{Order, Window};
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::frame::layout::Layout;
use crate::frame::text::excerpt;
use crate::frame::view::View;

/// Bad rows that are shown; the dataset's page has all.
const SHOWN: u32 = 50;

#[derive(Template, Serialize)]
#[template(path = "evaluations/dataset_check.html")]
struct DatasetCheckPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    result: Option<DatasetCheckResult>,
    #[serde(skip)]
    dataset: Option<Dataset>,
    #[serde(skip)]
    bad: Vec<BadRow>,
}

impl DatasetCheckPage {
    /// The parts of a score, or why there is none.
    fn score(&self, score: &RowScore) -> String {
        if score.parts.is_empty() {
            return excerpt(&score.reason, 400).text;
        }
        let parts = score.parts.iter().map(|(name, value)| format!("{name} {value}"));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn message(&self, row: &BadRow) -> String {
        excerpt(&row.message, 400).text
    }
}

pub(super) async fn show(view: &View, db: &PgPool, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let result = result.and_then(|result| DatasetCheckResult::deserialize(result).ok());
    let (mut dataset, mut bad) = (None, Vec::new());
    if let Some(result) = &result {
        // It may have been deleted since.
        dataset = datasets::find(db, result.dataset).await.ok();
        let first = Window { limit: SHOWN, after: None, order: Order::Oldest };
        if !result.dry_run {
            bad = datasets::bad_rows(db, result.dataset, &first).await?.items;
        }
    }
    view.show(&DatasetCheckPage { layout: frame.layout(view), frame, result, dataset, bad })
}
