//! What selection did in a run.

use actix_web::{get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::runs;

use crate::{api_error::ApiError, contract::Answer, lab::Lab, subjects::selection::Selection};

/// Show what selection did in a run: each cull beside what other rules would have culled, and beside a uniform draw.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run")),
    responses((status = 200, description = "The culls; `null` if the run's recipe does not evolve a population",
        body = Option<Selection>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/selection")]
pub(crate) async fn show_selection(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Option<Selection>>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Selection::read(&lab, &run).await?))
}
