//! Work of all runs and evaluations.

use actix_web::{HttpRequest, get, post, web};
use lyceum_core::{
    id::{ExecutionId, WorkId, WorkerId},
    work::WorkKind,
};
use lyceum_store::work::{self, WorkDetail, WorkFilter, WorkItem, WorkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::work_inputs::{WorkInput, inputs};
use crate::{
    api_error::ApiError,
    contract::{Answer, Listing, Order, Page, Query, bounds, check_if_match},
    lab::Lab,
};

/// Filters of items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListWorkQuery {
    /// Of this run.
    run: Option<Uuid>,
    /// Of this evaluation.
    evaluation: Option<Uuid>,
    /// Of this step.
    #[schemars(range(max = i32::MAX))]
    step: Option<u32>,
    /// In this state.
    state: Option<WorkState>,
    /// Of this kind: `rollout`, `verify`, `update`, `evolve` or `benchmark`.
    kind: Option<WorkKind>,
    /// Held now or last by this worker.
    worker: Option<Uuid>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListWorkQuery);

/// List work items with their errors.
#[utoipa::path(
    tag = "work",
    params(ListWorkQuery),
    responses((status = 200, description = "A page of items", body = Page<WorkItem>)),
    security(("token" = ["read"]))
)]
#[get("/work")]
pub(crate) async fn list_work(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListWorkQuery>,
) -> Result<Answer<Page<WorkItem>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("work", query.limit, query.cursor.as_deref(), query.order)?;
    if query.run.is_some() && query.evaluation.is_some() {
        let detail = "there is also a run; send only one of the two";
        return Err(ApiError::invalid_query(vec![(
            "evaluation".to_owned(),
            detail.to_owned(),
        )]));
    }
    let filter = WorkFilter {
        execution: query.run.or(query.evaluation).map(ExecutionId),
        step: query.step,
        state: query.state,
        kind: query.kind,
        worker: query.worker.map(WorkerId),
    };
    Ok(listing.answer(&request, work::page(lab.store.pool(), &filter, listing.window()).await?))
}

/// An item with its payload, result and inputs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShownWork {
    #[serde(flatten)]
    work: WorkDetail,
    /// What the item reads besides its payload. `lyceum-worker run` takes this whole response and runs the item by hand.
    inputs: Vec<WorkInput>,
    /// What every worker lacks that is present; null if one could take the item, or it is not `ready`.
    lacks: Option<String>,
}

impl ShownWork {
    async fn find(lab: &Lab, id: WorkId) -> Result<Self, ApiError> {
        let work = work::find(lab.store.pool(), id).await?;
        Ok(Self {
            inputs: inputs(work.payload.get()),
            lacks: work::lacks(lab.store.pool(), id).await?.map(|lack| lack.to_string()),
            work,
        })
    }
}

/// Show an item with its payload, result and errors.
///
/// `lyceum-worker run` takes the response and runs the item by hand.
#[utoipa::path(
    tag = "work",
    params(("id" = Uuid, Path, description = "The item")),
    responses((status = 200, description = "The item", body = ShownWork)),
    security(("token" = ["read"]))
)]
#[get("/work/{id}")]
pub(crate) async fn show_work(lab: web::Data<Lab>, id: web::Path<WorkId>) -> Result<Answer<ShownWork>, ApiError> {
    Ok(Answer::ok(ShownWork::find(&lab, *id).await?))
}

/// Give a failed item new tries and resume its run.
#[utoipa::path(
    tag = "work",
    params(("id" = Uuid, Path, description = "The item"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 202, description = "The item", body = ShownWork)),
    security(("token" = ["write"]))
)]
#[post("/work/{id}/retry")]
pub(crate) async fn retry_work(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<WorkId>,
) -> Result<Answer<ShownWork>, ApiError> {
    check_if_match(&request, &ShownWork::find(&lab, *id).await?)?;
    work::retry(lab.store.pool(), *id).await?;
    tracing::info!(work.id = %id, "gave work item {id} new tries");
    Ok(Answer::accepted(ShownWork::find(&lab, *id).await?))
}
