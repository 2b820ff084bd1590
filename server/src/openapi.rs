//! The description of the API (OpenAPI 3.1), generated from the endpoints and completed with what they share.

use actix_web::App;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi as _};
use utoipa_actix_web::AppExt as _;

use crate::subjects::routes;

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
    let (_, mut document) = App::new().into_utoipa_app().openapi(head).configure(routes).split_for_parts();
    complete(&mut document);
    document
}

/// Adds the authentication schemes.
pub(crate) struct Common;

impl Modify for Common {
    fn modify(&self, document: &mut OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
            "A token, sent as `Authorization: Bearer …`. The scopes are `read`, `write` and `admin`; each includes the previous ones. The scope `worker` is apart.",
        ));
        let session = ApiKeyValue::with_description(
            "lyceum_session",
            "A browser's session. Requests that change anything must also send `x-csrf-token`.",
        );
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(session)));
    }
}

/// Adds to every operation the errors implied by its parameters, body and security.
pub(crate) fn complete(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in methods_mut(item) {
            let mut errors = vec![];
            let needs_token = operation.security.as_ref().is_none_or(|ways| !ways.is_empty());
            if needs_token {
                errors.extend([("401", "No valid token"), ("403", "The token does not allow this")]);
                errors.push(("429", "Too many wrong tokens"));
                allow_session(operation);
            }
            let parameters = operation.parameters.iter().flatten();
            let places: Vec<&ParameterIn> = parameters
                .filter_map(|parameter| match parameter {
                    RefOr::T(parameter) => Some(&parameter.parameter_in),
                    RefOr::Ref(_) => None,
                })
                .collect();
            if places.contains(&&ParameterIn::Path) {
                errors.push(("404", "Not found"));
            }
            if places.iter().any(|place| matches!(place, ParameterIn::Query | ParameterIn::Header)) {
                errors.push(("400", "A parameter is not valid"));
            }
            if operation.request_body.is_some() {
                errors.extend([("400", "The body is not JSON"), ("413", "The body is too large")]);
                errors.push(("408", "The body arrives too slowly"));
                errors.extend([("415", "Unsupported media type"), ("422", "The body is not valid")]);
            }
            if needs_token && !places.is_empty() || operation.request_body.is_some() {
                errors.push(("409", "The state does not allow this"));
            }
            if takes_if_match(operation) {
                errors.push(("412", "It has changed since the version in If-Match"));
            }
            errors.extend([("421", "The name is not this server's"), ("503", "Not available now")]);
            for (status, description) in errors {
                if !operation.responses.responses.contains_key(status) {
                    operation.responses.responses.insert(status.to_owned(), error(description));
                }
            }
        }
    }
}

fn takes_if_match(operation: &Operation) -> bool {
    let mut parameters = operation.parameters.iter().flatten();
    parameters.any(|parameter| matches!(parameter, RefOr::T(parameter) if parameter.name == "If-Match"))
}

fn error(description: &str) -> RefOr<utoipa::openapi::Response> {
    let content = Content::new(Some(RefOr::Ref(Ref::from_schema_name("ApiError"))));
    ResponseBuilder::new().description(description).content("application/problem+json", content).build().into()
}

/// A session has the permissions of its token.
fn allow_session(operation: &mut Operation) {
    let ways = operation.security.get_or_insert_default();
    let sessions: Vec<SecurityRequirement> = ways
        .iter()
        .filter_map(|way| {
            let named = serde_json::to_value(way).ok()?;
            let scopes = named.get("token")?.as_array()?.iter();
            let scopes: Vec<String> = scopes.filter_map(|scope| scope.as_str().map(str::to_owned)).collect();
            // A worker's token opens no session.
            (scopes != ["worker"]).then(|| SecurityRequirement::new("session", scopes))
        })
        .collect();
    ways.extend(sessions);
}

fn methods_mut(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch]
        .into_iter()
        .filter_map(Option::as_mut)
}
