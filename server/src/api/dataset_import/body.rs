//! The body of an import.

use actix_web::{HttpRequest, http::header::CONTENT_TYPE};

use crate::api_error::ApiError;

/// The media types of files of rows. Which of them it is, the first bytes tell.
const TYPES: [&str; 4] = [
    "application/x-ndjson",
    "application/gzip",
    "application/vnd.apache.parquet",
    "application/octet-stream",
];

pub(super) fn check_type(request: &HttpRequest) -> Result<(), ApiError> {
    let sent = request.headers().get(CONTENT_TYPE);
    let sent = sent.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    match TYPES.contains(&sent) {
        true => Ok(()),
        false => Err(ApiError::unsupported_type(
            "application/x-ndjson, application/gzip, application/vnd.apache.parquet or application/octet-stream",
        )),
    }
}
