//! What selection did in a run.

use actix_web::{get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::runs;

use crate::api::Api;
use crate::contract::Answer;
use crate::{api_error::ApiError, subjects::selection::Selection};

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
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Option<Selection>>, ApiError> {
    let run = runs::find(api.store.pool(), *id).await?;
    Ok(Answer::ok(Selection::read(&api, &run).await?))
}
