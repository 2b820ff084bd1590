//! Malformed ids and unknown addresses.

use actix_web::{
    Error, HttpRequest, HttpResponse,
    error::PathError,
    web::{self, PathConfig},
};

use super::Api;
use crate::api_error::ApiError;

/// A malformed id is reported as 404.
pub(crate) fn malformed_path() -> PathConfig {
    PathConfig::default().error_handler(|error: PathError, request: &HttpRequest| -> Error {
        ApiError::not_found(format!("{} is not a valid address: {error}", request.path())).into()
    })
}

/// The response if there is no such endpoint or method.
pub(crate) async fn nothing_here(request: HttpRequest, api: web::Data<Api>) -> Result<HttpResponse, ApiError> {
    let methods = request
        .match_pattern()
        .map(|pattern| api.requirements.methods(&pattern))
        .unwrap_or_default();
    if methods.is_empty() {
        return Err(ApiError::not_found(format!(
            "there is nothing at {}; see /docs",
            request.path()
        )));
    }
    Err(ApiError::method_not_allowed(
        request.method().as_str(),
        &methods.join(", "),
    ))
}
