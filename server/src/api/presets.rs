//! Presets: run configs to start from.

use actix_web::{get, web};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::Answer,
    lab::{Lab, Preset},
};

/// All presets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AllPresets {
    /// The presets, sorted by name.
    items: Vec<Preset>,
}

/// List presets.
#[utoipa::path(
    tag = "configs",
    responses((status = 200, description = "All presets", body = AllPresets)),
    security(("token" = ["read"]))
)]
#[get("/presets")]
pub(crate) async fn list_presets(lab: web::Data<Lab>) -> Result<Answer<AllPresets>, ApiError> {
    let items = lab.presets.all().map_err(|error| ApiError::internal(&error))?;
    Ok(Answer::ok(AllPresets { items }))
}

/// Show a preset.
#[utoipa::path(
    tag = "configs",
    params(("name" = String, Path, description = "The preset")),
    responses((status = 200, description = "The preset", body = Preset)),
    security(("token" = ["read"]))
)]
#[get("/presets/{name}")]
pub(crate) async fn show_preset(lab: web::Data<Lab>, name: web::Path<String>) -> Result<Answer<Preset>, ApiError> {
    Ok(Answer::ok(lab.presets.get(&name).map_err(ApiError::not_found)?))
}
