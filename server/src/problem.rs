//! What a request hears when it cannot be answered: `application/problem+json` (RFC 9457) with every fault at once.
//!
//! What went wrong inside is said to the log, not to the caller: [`Problem::internal`] logs it where the request's trace
//! id is known, and the answer names that id in `x-trace-id`.

mod faults;
mod store;

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
    },
};
use serde::Serialize;
use std::{fmt, time::Duration};

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct FieldFault {
    /// Where in the body: a JSON pointer (RFC 6901); empty for the whole body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/populations/main/lora/r")]
    pub pointer: Option<String>,
    /// Which parameter of the query, or which header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong and what would be valid.
    pub detail: String,
}

/// A problem (RFC 9457).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// Which problem it is, for programs: `urn:lyceum:problem:` and a name that does not change.
    #[serde(rename = "type")]
    #[schema(example = "urn:lyceum:problem:invalid")]
    kind: String,
    /// The same for all problems of this type.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong here, for a person.
    detail: String,
    /// Every fault of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldFault>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
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

    /// The body is no JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", "The body is not JSON", detail)
    }

    /// Nothing has this address.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    /// The address has other methods.
    pub(crate) fn method_not_allowed(method: &str, allowed: &str) -> Self {
        let detail = format!("{method} is not possible here; {allowed} is");
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Not a method of this address",
            detail,
        )
        .header(ALLOW, allowed)
    }

    /// Who asks did not say who they are, or not rightly.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed", detail)
            .header(WWW_AUTHENTICATE, "Bearer realm=\"lyceum\"")
    }

    /// Who asks may not.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "The token does not allow this",
            detail,
        )
    }

    /// A browser's session did not show its own CSRF token.
    pub(crate) fn csrf() -> Self {
        let detail = "a session must send its CSRF token in the header x-csrf-token; GET /api/v1/session says it";
        Self::new(
            StatusCode::FORBIDDEN,
            "csrf",
            "The request may come from another site",
            detail,
        )
    }

    /// Too many wrong tokens.
    pub(crate) fn too_many_failures(wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        let detail = format!("too many wrong tokens came from this address; try again in {seconds} s");
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many-failures",
            "Too many wrong tokens",
            detail,
        )
        .header(RETRY_AFTER, seconds.to_string())
    }

    /// The body is larger than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("the body may have {limit} bytes at most");
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "The body is too large",
            detail,
        )
    }

    /// The body is of another type than `wanted`.
    pub(crate) fn unsupported_type(wanted: &str) -> Self {
        let detail = format!("the body must be sent as {wanted}");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-type",
            "The body is of another type",
            detail,
        )
    }

    /// The thing is not in a state for this.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "conflict",
            "The state does not allow this",
            detail,
        )
    }

    /// The thing has changed since the caller saw it.
    pub(crate) fn changed() -> Self {
        let detail = "it has changed since it had the ETag of If-Match; get it again";
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", "It has changed", detail)
    }

    /// What the request asks for is understood, and cannot be done.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
            "The request cannot be carried out",
            detail,
        )
    }

    /// The service cannot answer now, and may later.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Not available now",
            detail,
        )
        .header(RETRY_AFTER, "2")
    }

    /// Something failed that the caller cannot mend. What, is logged.
    pub(crate) fn internal(error: &dyn fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        let detail = "something failed; the server's log says what, under the trace id of this answer";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Something failed",
            detail,
        )
    }

    /// No space is left for what was sent.
    pub(crate) fn no_space() -> Self {
        let detail = "no space is left where artifacts are kept";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "no-space", "No space is left", detail)
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What all problems of this type have in common, for a person.
    pub(crate) fn title(&self) -> &str {
        self.title
    }

    /// Every fault of the request.
    pub(crate) fn errors(&self) -> &[FieldFault] {
        &self.errors
    }

    /// The problem, for a person.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status());
        response.insert_header((CONTENT_TYPE, "application/problem+json"));
        for header in &self.headers {
            response.insert_header(header.clone());
        }
        match serde_json::to_vec(self) {
            Ok(body) => response.body(body),
            Err(_) => response.finish(),
        }
    }
}
