//! A log line for each request, and its duration as a metric.

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
};
use std::time::Instant;
use tracing::Instrument as _;

use crate::contract::TraceId;

/// Assigns the request a trace id for all its log entries, and logs its outcome. The query is omitted because it may
/// contain text typed by a person.
pub(crate) async fn log_request<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let began = Instant::now();
    let trace = TraceId::sent(request.headers()).unwrap_or_default();
    request.extensions_mut().insert(trace.clone());
    let method = request.method().clone();
    // Metrics are labelled with the pattern, not the path, because there are few of them.
    let route = request.match_pattern().unwrap_or_else(|| "unknown".to_owned());
    let span = tracing::info_span!("request", trace_id = %trace, http.method = %method, http.route = %route);
    let outcome = next.call(request).instrument(span.clone()).await;
    let _entered = span.enter();
    let seconds = began.elapsed().as_secs_f64();
    match outcome {
        Ok(mut response) => {
            let status = response.status().as_u16();
            if let Ok(value) = HeaderValue::from_str(trace.as_str()) {
                response
                    .headers_mut()
                    .insert(HeaderName::from_static("x-trace-id"), value);
            }
            let labels = [
                ("method", method.to_string()),
                ("route", route),
                ("status", status.to_string()),
            ];
            metrics::counter!("lyceum_http_requests_total", &labels).increment(1);
            metrics::histogram!("lyceum_http_request_duration_seconds", &labels[..2]).record(seconds);
            let milliseconds = seconds * 1000.0;
            let path = response.request().path();
            if status >= 500 {
                tracing::warn!(http.status = status, http.path = path, milliseconds, "answered");
            } else {
                tracing::info!(http.status = status, http.path = path, milliseconds, "answered");
            }
            Ok(response)
        }
        Err(error) => {
            tracing::warn!(%error, "not answered");
            Err(error)
        }
    }
}
