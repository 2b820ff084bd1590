//! The server's log (`docs/OPERATING.md`): a line for each request, and the short log for a terminal.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _};
use chrono::Local;
use std::time::Instant;
use std::{fmt, io};
use tracing::field::{Field, Visit};
use tracing::{Event, Instrument as _, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::contract::TraceId;
use crate::frame::text::inert;

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
                response.headers_mut().insert(HeaderName::from_static("x-trace-id"), value);
            }
            let labels = [("method", method.to_string()), ("route", route), ("status", status.to_string())];
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

/// The target of events about the progress of runs.
pub(crate) const PROGRESS: &str = "lyceum::progress";

/// Progress, warnings and errors.
const FILTER: &str = "warn,lyceum::progress=info";

/// Starts logging progress, warnings and errors to standard error.
pub(crate) fn start_brief() {
    let started = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(FILTER))
        .with_writer(io::stderr)
        .event_format(Brief)
        .try_init();
    if let Err(error) = started {
        tracing::debug!("the log was started already: {error}");
    }
}

/// Writes time and message; for warnings and errors also level and fields.
struct Brief;

impl<S, N> FormatEvent<S, N> for Brief
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(line, "{} ", Local::now().format("%H:%M:%S"))?;
        match *event.metadata().level() {
            level if level <= Level::WARN => {
                let (name, colour) = if level == Level::ERROR { ("error", 31) } else { ("warning", 33) };
                if line.has_ansi_escapes() {
                    write!(line, "\x1b[{colour}m{name}\x1b[0m: ")?;
                } else {
                    write!(line, "{name}: ")?;
                }
                context.format_fields(line.by_ref(), event)?;
            }
            _ => event.record(&mut Message(&mut line)),
        }
        writeln!(line)
    }
}

/// Writes the message of an event without its fields.
struct Message<'a, 'b>(&'a mut Writer<'b>);

impl Visit for Message<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{}", inert(&format!("{value:?}")));
        }
    }
}
