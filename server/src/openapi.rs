//! The description of the API (OpenAPI 3.1), generated from the handlers and completed with what they share.

mod common;

use common::Common;

use actix_web::App;
use utoipa::OpenApi as _;
use utoipa_actix_web::AppExt as _;

use crate::api::routes;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Lyceum",
        description = "A laboratory in which language models teach each other. Times are RFC 3339 in UTC; lists are \
                       pages with a cursor; errors are problem documents (RFC 9457).",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(crate::api_error::ApiError)),
    modifiers(&Common),
    tags(
        (name = "runs", description = "Executions of a recipe with a config and a seed, and their results."),
        (name = "experiments", description = "Groups of runs to compare."),
        (name = "sweeps", description = "Experiments whose runs begin by themselves."),
        (name = "alerts", description = "What somebody may want to know at once, and webhooks that are told of it."),
        (name = "views", description = "Saved views, and links that show one."),
        (name = "work", description = "Items of the steps of runs and evaluations."),
        (name = "workers", description = "Processes that do the work."),
        (name = "evaluations", description = "Work on frozen versions that does not affect runs."),
        (name = "datasets", description = "Imported, hashed rows."),
        (name = "artifacts", description = "Files, named by the hash of their content."),
        (name = "configs", description = "Recipes, presets and the schema of run configs."),
        (name = "tokens", description = "Access tokens."),
        (name = "service", description = "The server itself."),
    ),
)]
struct Head;

/// The whole description.
pub fn document() -> utoipa::openapi::OpenApi {
    let head = Head::openapi();
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .openapi(head)
        .configure(routes)
        .split_for_parts();
    common::complete(&mut document);
    crate::api::bound_bodies(&mut document);
    document
}
