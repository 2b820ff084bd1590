//! The geometry of the members' updates of a run.

use actix_web::{get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    api_error::ApiError,
    contract::{Answer, Query},
    lab::Lab,
    subjects::geometry::Geometry,
};

/// Which pairs to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeometryQuery {
    /// Pairs measured at the end of this step; by default those of the newest measured step.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
}

crate::contract::query!(GeometryQuery);

/// Show the geometry of members' weights: norms and effective ranks of all measured versions, and the cosines and distances of
/// those of a step.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), GeometryQuery),
    responses((status = 200, description = "The geometry", body = Geometry)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/geometry")]
pub(crate) async fn show_geometry(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<GeometryQuery>,
) -> Result<Answer<Geometry>, ApiError> {
    runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Geometry::read(&lab, *id, query.0.step).await?))
}
