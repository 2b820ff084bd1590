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
    let Some(pattern) = request.match_pattern() else {
        return Err(ApiError::not_found(format!(
            "there is nothing at {}; see /docs",
            request.path()
        )));
    };
    let mut methods = api.requirements.methods(&pattern);
    if methods.is_empty() {
        // A page, of which two are also posted to.
        methods = match pattern.as_str() {
            "/login" => vec!["GET", "HEAD", "POST"],
            "/logout" => vec!["POST"],
            _ => vec!["GET", "HEAD"],
        };
    }
    Err(ApiError::method_not_allowed(
        request.method().as_str(),
        &methods.join(", "),
    ))
}
