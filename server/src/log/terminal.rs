//! The short log for a terminal: progress, warnings and errors.

use std::{fmt, io};

use chrono::Local;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use crate::frame::text::inert;

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
                let (name, colour) = if level == Level::ERROR {
                    ("error", 31)
                } else {
                    ("warning", 33)
                };
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
