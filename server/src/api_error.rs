//! Errors of requests, sent as `application/problem+json` (RFC 9457) with every fault at once.
//!
//! Internal errors go to the log, not to the caller: [`ApiError::internal`] logs the cause under the request's trace
//! id, which the response names in `x-trace-id`.

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use lyceum_core::fault::{Fault, Faults};
use lyceum_store::StoreError;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct FieldFault {
    /// The field of the body, as a JSON pointer (RFC 6901); empty for the whole body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/populations/main/lora/r")]
    pub pointer: Option<String>,
    /// The query parameter or header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong, and what would be valid.
    pub detail: String,
}

impl From<Fault> for FieldFault {
    fn from(Fault { pointer, detail }: Fault) -> Self {
        Self { pointer: Some(pointer), parameter: None, detail }
    }
}

/// An error response: a problem document (RFC 9457).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ApiError {
    /// The type of error, for programs: `urn:lyceum:problem:` and a name that does not change.
    #[serde(rename = "type")]
    #[schema(example = "urn:lyceum:problem:invalid")]
    kind: String,
    /// A summary; the same for all errors of this type.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong with this request, for a person.
    detail: String,
    /// Every fault of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldFault>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:lyceum:problem:{kind}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            headers: Vec::new(),
        }
    }

    fn header(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        if let Ok(value) = value.try_into() {
            self.headers.push((name, value));
        }
        self
    }

    /// 400: the body is not JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", "The body cannot be read", detail)
    }

    /// 404: nothing has this address or id.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// 405: the address has other methods.
    pub(crate) fn method_not_allowed(method: &str, allowed: &str) -> Self {
        let detail = format!("{method} is not allowed here; use {allowed}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed", detail)
            .header(ALLOW, allowed)
    }

    /// 401: the request has no valid token or session.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed", detail)
            .header(WWW_AUTHENTICATE, "Bearer realm=\"lyceum\"")
    }

    /// 403: the caller is known, and may not do this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail)
    }

    /// 403: a browser's session did not send its CSRF token.
    pub(crate) fn csrf() -> Self {
        let detail = "a session must send its CSRF token in the header x-csrf-token; GET /api/v1/session gives it";
        Self::new(StatusCode::FORBIDDEN, "csrf", "The request may come from another site", detail)
    }

    /// 421: the request is for a name that is not the server's.
    pub(crate) fn unknown_host(host: &str) -> Self {
        const SHOWN: usize = 100;
        let host: String = host.chars().take(SHOWN).collect();
        let detail = format!(
            "the server does not answer to the name `{host}`; use its IP address, or add the name to the server's setting \
             `allowed_hosts`"
        );
        Self::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", "The name is not this server's", detail)
    }

    /// 429: too many wrong tokens came from this address.
    pub(crate) fn too_many_failures(wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        let detail = format!("too many wrong tokens came from this address; try again in {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-failures", "Too many wrong tokens", detail)
            .header(RETRY_AFTER, seconds.to_string())
    }

    /// 413: the body is larger than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("the body must not exceed {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail)
    }

    /// 408: the body arrives at less than `bytes_per_second` after `grace`.
    pub(crate) fn too_slow(grace: Duration, bytes_per_second: u32) -> Self {
        let grace = grace.as_secs_f64();
        let detail = format!(
            "the body arrives too slowly: after {grace} s, at least {bytes_per_second} bytes a second are needed on average"
        );
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The body is too slow", detail)
    }

    /// 415: the body's media type is not `wanted`.
    pub(crate) fn unsupported_type(wanted: &str) -> Self {
        let detail = format!("the body must be sent as {wanted}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-type", "Unsupported media type", detail)
    }

    /// 409: the resource's state does not allow this.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "The state does not allow this", detail)
    }

    /// 412: the resource has changed since the caller read it.
    pub(crate) fn changed() -> Self {
        let detail = "it has changed since the ETag in If-Match; read it again";
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", "The resource has changed", detail)
    }

    /// 422: the request is valid, and cannot be carried out.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "The request cannot be carried out", detail)
    }

    /// 503: the service cannot answer now; the caller may try again.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not available now", detail).header(RETRY_AFTER, "2")
    }

    /// 500: the cause is logged, and not shown to the caller.
    pub(crate) fn internal(error: &dyn fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        let detail = "an internal error; the server's log has the cause under this response's trace id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail)
    }

    /// 507: no space is left to store what was sent.
    pub(crate) fn no_space(place: &str) -> Self {
        let detail = format!("no space is left in {place}");
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "no-space", "Out of space", detail)
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The summary of errors of this type.
    pub(crate) fn title(&self) -> &str {
        self.title
    }

    /// Every fault of the request.
    pub(crate) fn errors(&self) -> &[FieldFault] {
        &self.errors
    }

    /// What is wrong, for a person.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title, self.detail)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status());
        response.insert_header((CONTENT_TYPE, "application/problem+json"));
        for header in &self.headers {
            response.insert_header(header.clone());
        }
        if self.status() == StatusCode::REQUEST_TIMEOUT {
            response.force_close();
        }
        match serde_json::to_vec(self) {
            Ok(body) => response.body(body),
            Err(_) => response.finish(),
        }
    }
}

impl ApiError {
    /// 422: the body has these faults.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let errors = faults.into_iter().map(FieldFault::from).collect();
        Self::with_errors(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "The body is not valid", errors)
    }

    /// 400: the query has these faults, each with the parameter's name.
    pub(crate) fn invalid_query(faults: Vec<(String, String)>) -> Self {
        Self::invalid_parameters("The query is not valid", faults)
    }

    /// 400: a header is not valid.
    pub(crate) fn invalid_header(name: &str, detail: impl Into<String>) -> Self {
        Self::invalid_parameters("A header is not valid", vec![(name.to_owned(), detail.into())])
    }

    fn invalid_parameters(title: &'static str, faults: Vec<(String, String)>) -> Self {
        let errors = faults.into_iter().map(|(parameter, detail)| FieldFault {
            pointer: None,
            parameter: Some(parameter),
            detail,
        });
        Self::with_errors(StatusCode::BAD_REQUEST, "invalid-parameter", title, errors.collect())
    }

    fn with_errors(status: StatusCode, kind: &str, title: &'static str, errors: Vec<FieldFault>) -> Self {
        let detail = match errors.as_slice() {
            [only] => match only.pointer.as_deref().or(only.parameter.as_deref()) {
                None | Some("") => only.detail.clone(),
                Some(field) => format!("{field}: {}", only.detail),
            },
            all => format!("{} faults were found", all.len()),
        };
        Self { errors, ..Self::new(status, kind, title, detail) }
    }
}

impl From<Faults> for ApiError {
    fn from(faults: Faults) -> Self {
        Self::invalid(faults.0)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound { .. } => Self::not_found(error.to_string()),
            StoreError::RemovedReward { .. } => {
                Self::new(StatusCode::GONE, "removed", "It was removed", error.to_string())
            }
            StoreError::Conflict { .. }
            | StoreError::InUse { .. }
            | StoreError::Forked { .. }
            | StoreError::Removed { .. } => Self::conflict(error.to_string()),
            StoreError::Taken { .. } => {
                Self::new(StatusCode::CONFLICT, "taken", "The name is taken", error.to_string())
            }
            StoreError::NoSuchStep { .. } => Self::invalid(vec![Fault::new("/step", error.to_string())]),
            StoreError::Database(database) => Self::database(database),
            StoreError::Artifacts(_) if error.is_full() => {
                tracing::error!(%error, "no space is left for an artifact");
                Self::no_space("the artifact store")
            }
            StoreError::Damaged { .. } => {
                tracing::error!(%error, "an artifact is damaged");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Self::new(status, "damaged", "An artifact is damaged", error.to_string())
            }
            // Whoever sends an artifact sends it again, so that it is not lost with a bucket that comes back.
            StoreError::Artifacts(_) => {
                tracing::error!(%error, "the artifact store does not respond");
                Self::unavailable("the artifact store does not respond; try again")
            }
            _ => Self::internal(&error),
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        Self::database(&error)
    }
}

impl ApiError {
    fn database(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                tracing::error!(%error, "the database does not respond");
                Self::unavailable("the database does not respond; try again")
            }
            // Class 57: the server is being stopped or started (Postgres manual, appendix A).
            sqlx::Error::Database(refused) if refused.code().is_some_and(|code| code.starts_with("57P")) => {
                tracing::error!(%error, "the database is being restarted");
                Self::unavailable("the database is being restarted; try again")
            }
            // Class 53: disk_full.
            sqlx::Error::Database(refused) if refused.code().as_deref() == Some("53100") => {
                tracing::error!(%error, "no space is left for the database");
                Self::no_space("the database")
            }
            _ => Self::internal(error),
        }
    }
}
