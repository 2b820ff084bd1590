//! Runs to choose from, on pages that can show another one.

use lyceum_store::{
    page::{Order, Window},
    runs::{self, Run, RunFilter, RunSort},
};
use sqlx::PgPool;

use super::view::View;
use crate::api_error::ApiError;

/// The newest `limit` runs; none for whoever has only a link to the page, since a link shows no other run.
pub(super) async fn newest(view: &View, db: &PgPool, limit: u32) -> Result<Vec<Run>, ApiError> {
    if view.caller.has_only_a_link {
        return Ok(Vec::new());
    }
    let newest = Window {
        limit,
        after: None,
        order: Order::Newest,
    };
    Ok(runs::page(db, &RunFilter::default(), &RunSort::Age, &newest)
        .await?
        .items)
}
