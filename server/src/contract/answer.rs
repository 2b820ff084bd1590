//! JSON responses with an ETag.

use actix_web::body::BoxBody;
use actix_web::http::header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, LOCATION};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError as _};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::api_error::ApiError;

pub(crate) fn csv(text: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/csv; charset=utf-8")).body(text)
}

/// CSV with the fields `columns` of `rows`, and a header.
pub(crate) fn csv_of(columns: &[&str], rows: &[impl Serialize]) -> Result<HttpResponse, ApiError> {
    let mut text = columns.join(",") + "\n";
    for row in rows {
        let row = serde_json::to_value(row).map_err(|error| ApiError::internal(&error))?;
        let cells: Vec<String> = columns.iter().map(|column| cell(&row[*column])).collect();
        text.push_str(&(cells.join(",") + "\n"));
    }
    Ok(csv(text))
}

/// RFC 4180. Before a text that a spreadsheet would run as a formula stands an apostrophe.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("\"'{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    status: StatusCode,
    body: T,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl<T> Answer<T> {
    /// 200 with the body.
    pub(crate) fn ok(body: T) -> Self {
        Self::with(StatusCode::OK, body)
    }

    /// A response with another status.
    pub(crate) fn with(status: StatusCode, body: T) -> Self {
        Self { status, body, headers: Vec::new() }
    }

    /// 201 with the new resource and its address.
    pub(crate) fn created(body: T, location: &str) -> Self {
        Self::with(StatusCode::CREATED, body).header(LOCATION, location)
    }

    /// 202: the operation has started.
    pub(crate) fn accepted(body: T) -> Self {
        Self::with(StatusCode::ACCEPTED, body)
    }

    /// The response with another header.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }
}

impl<T: Serialize> Responder for Answer<T> {
    type Body = BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let body = match serde_json::to_vec(&self.body) {
            Ok(body) => body,
            Err(error) => return ApiError::internal(&error).error_response(),
        };
        let mut response = HttpResponse::build(self.status);
        for header in self.headers {
            response.insert_header(header);
        }
        if request.method() == Method::GET {
            let etag = etag_of(&body);
            response.insert_header((ETAG, etag.clone()));
            if is_known(request, &etag) {
                return response.status(StatusCode::NOT_MODIFIED).finish();
            }
        }
        response.content_type("application/json").body(body)
    }
}

/// Weak, since another release may order the fields differently.
fn etag_of(body: &[u8]) -> String {
    let hash: String = Sha256::digest(body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hash}\"")
}

/// Whether the client has the version with this `ETag`.
pub(crate) fn is_known(request: &HttpRequest, etag: &str) -> bool {
    names(request, IF_NONE_MATCH, etag)
}

fn names(request: &HttpRequest, header: HeaderName, etag: &str) -> bool {
    let opaque = etag.trim_start_matches("W/");
    request.headers().get_all(header).filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == opaque)
    })
}

/// Fails if the request's `If-Match` no longer matches `seen`.
pub(crate) fn check_if_match(request: &HttpRequest, seen: &impl Serialize) -> Result<(), ApiError> {
    if !request.headers().contains_key(IF_MATCH) {
        return Ok(());
    }
    let body = serde_json::to_vec(seen).map_err(|error| ApiError::internal(&error))?;
    if names(request, IF_MATCH, &etag_of(&body)) { Ok(()) } else { Err(ApiError::changed()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::body::MessageBody as _;

    #[test]
    fn csv_has_the_fields_of_rows_and_quotes_what_would_break_a_line() {
        let rows = [serde_json::json!({"b": "x,\"y\"\n", "a": 1, "c": 2}), serde_json::json!({"a": null, "b": "z"})];
        let body = csv_of(&["a", "b"], &rows).unwrap().into_body().try_into_bytes().unwrap();
        assert_eq!(body, "a,b\n1,\"x,\"\"y\"\"\n\"\n,z\n");
    }
}
