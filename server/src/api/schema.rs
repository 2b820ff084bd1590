//! What configs look like, and the description of this API.

use actix_web::{get, web};
use lyceum_core::config::{RunConfig, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Api, answer::Answer, query::Query};
use crate::api_error::ApiError;

/// For which recipe.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfigSchemaQuery {
    /// Fills in this recipe's parameters; they are open where this is left out.
    recipe: Option<String>,
}

crate::openapi::query!(RunConfigSchemaQuery);

/// An algorithm.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecipeSummary {
    /// Its name.
    name: &'static str,
    /// What it is.
    summary: &'static str,
    /// Names of the metrics that it records.
    metrics: Vec<&'static str>,
}

/// All recipes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Recipes {
    /// In the order of their names.
    items: Vec<RecipeSummary>,
}

/// List the recipes that this server knows.
#[utoipa::path(
    tag = "configs",
    responses((status = 200, description = "All recipes", body = Recipes)),
    security(("token" = ["read"]))
)]
#[get("/recipes")]
pub(crate) async fn list_recipes(api: web::Data<Api>) -> Answer<Recipes> {
    let items = api.registry.recipes().map(|recipe| RecipeSummary {
        name: recipe.name(),
        summary: recipe.summary(),
        metrics: recipe.metric_names(),
    });
    Answer::ok(Recipes { items: items.collect() })
}

/// Show the JSON Schema of a run config.
#[utoipa::path(
    tag = "configs",
    params(RunConfigSchemaQuery),
    responses((status = 200, description = "JSON Schema, draft 2020-12", body = Object)),
    security(("token" = ["read"]))
)]
#[get("/schema/run-config")]
pub(crate) async fn show_run_config_schema(
    api: web::Data<Api>,
    query: Query<RunConfigSchemaQuery>,
) -> Result<Answer<Value>, ApiError> {
    let schema = match query.0.recipe.as_deref() {
        Some(name) => api
            .registry
            .config_schema(name)
            .map_err(|unknown| ApiError::invalid_query(vec![("recipe".to_owned(), unknown.to_string())]))?,
        None => Schema::of::<RunConfig>(),
    };
    Ok(Answer::ok(schema.document().clone()))
}

/// Show this description of the API.
#[utoipa::path(
    tag = "service",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
    security()
)]
#[get("/openapi.json")]
pub(crate) async fn show_openapi(api: web::Data<Api>) -> Result<Answer<Value>, ApiError> {
    let document = serde_json::to_value(&*api.document).map_err(|error| ApiError::internal(&error))?;
    Ok(Answer::ok(document))
}
