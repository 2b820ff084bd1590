//! The archive of a run.

pub(super) mod archives;
mod grid;
mod map;
pub(super) mod page;

use actix_web::web;
use lyceum_core::id::ExecutionId;
use lyceum_store::archive::{self, Cell};
use lyceum_store::page::Window;
use lyceum_store::{Store, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Filter, Query, list_of_run};

/// The step of the map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AtStep {
    /// The map after this step; by default the current one.
    step: Option<u32>,
}

/// Selects insertions.
#[derive(Debug, Deserialize, JsonSchema)]
struct InsertionFilter {
    /// Of this cell.
    #[schemars(range(max = i32::MAX))]
    cell: Option<u32>,
}

impl Filter for InsertionFilter {}

/// The map of an archive.
#[derive(Debug, Serialize, ToSchema)]
struct Archive {
    /// The step; absent for the current map.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// The occupied cells, in order.
    cells: Vec<Cell>,
    /// Sum of the elites' objectives.
    qd_score: f64,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let map = About::new("show_archive", "/runs/{id}/archive")
        .says("Show the archive of a run, now or after a step.", "The map");
    let insertions = About::new("list_insertions", "/runs/{id}/archive/insertions")
        .says("List the insertions into the archive of a run.", "A page of insertions");
    let map = Endpoint::get(map, "runs", show).id("id", "The run");
    let read = async |db: &PgPool, run: ExecutionId, filter: &InsertionFilter, window: &Window| {
        archive::insertions(db, run, filter.cell, window).await
    };
    vec![map.query::<AtStep>().answers::<Archive>(), list_of_run(insertions, read)]
}

async fn show(
    store: web::Data<Store>,
    id: web::Path<ExecutionId>,
    query: Query<AtStep>,
) -> Result<Answer<Archive>, ApiError> {
    runs::find(store.pool(), *id).await?;
    let cells = archive::cells_at(store.pool(), *id, query.0.step).await?;
    Ok(Answer::ok(Archive {
        step: query.0.step,
        qd_score: cells.iter().map(|cell| f64::from(cell.objective)).sum(),
        cells,
    }))
}
