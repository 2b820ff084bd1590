//! Addresses that lead nowhere.

use actix_web::{
    Error, HttpRequest, HttpResponse,
    error::PathError,
    web::{self, PathConfig},
};

use super::Api;
use crate::api_error::ApiError;

/// An id that is none is the id of nothing.
pub(crate) fn malformed_path() -> PathConfig {
    PathConfig::default().error_handler(|error: PathError, request: &HttpRequest| -> Error {
        ApiError::not_found(format!("{} leads to nothing: {error}", request.path())).into()
    })
}

/// What is said where no endpoint is, or none of this method.
pub(crate) async fn nothing_here(request: HttpRequest, api: web::Data<Api>) -> Result<HttpResponse, ApiError> {
    let methods = request
        .match_pattern()
        .map(|pattern| api.requirements.methods(&pattern))
        .unwrap_or_default();
    if methods.is_empty() {
        return Err(ApiError::not_found(format!(
            "nothing is at {}; /docs shows what there is",
            request.path()
        )));
    }
    Err(ApiError::method_not_allowed(
        request.method().as_str(),
        &methods.join(", "),
    ))
}
