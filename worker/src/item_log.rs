//! The log of an item: what the worker says while it runs the item, kept with the item for its page.

use chrono::Utc;
use lyceum_store::work::LogLine;
use std::fmt::Write as _;
use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing::{Event, Id, Span, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// The name of the span of an item.
pub(crate) const SPAN: &str = "work";
/// Lines that are kept at most, half of them from the end.
const LINES: usize = 200;
/// Characters of a line that are kept at most.
const LENGTH: usize = 1000;

/// Keeps what is logged in spans of items. It belongs to the subscriber of a process that works.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemLogs;

/// The lines of a span.
#[derive(Debug, Default)]
struct Lines {
    lines: Vec<LogLine>,
    /// Lines left out of the middle.
    left_out: usize,
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for ItemLogs {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() == SPAN
            && let Some(span) = context.span(id)
        {
            span.extensions_mut().insert(Lines::default());
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(lines) = span.extensions_mut().get_mut::<Lines>() {
                let mut text = Text::default();
                event.record(&mut text);
                lines.add(event.metadata().level().as_str().to_lowercase(), &text.joined());
            }
        }
    }
}

/// Adds what an item does to the log of its span.
pub(crate) fn note(span: &Span, text: &str) {
    with_lines(span, |lines| lines.add("progress".to_owned(), text));
}

/// Takes the lines of a span; none if nobody keeps them.
pub(crate) fn take(span: &Span) -> Vec<LogLine> {
    with_lines(span, |lines| std::mem::take(lines).all()).unwrap_or_default()
}

fn with_lines<T>(span: &Span, act: impl FnOnce(&mut Lines) -> T) -> Option<T> {
    span.with_subscriber(|(id, subscriber)| {
        let span = subscriber.downcast_ref::<Registry>()?.span(id)?;
        span.extensions_mut().get_mut::<Lines>().map(act)
    })
    .flatten()
}

impl Lines {
    fn add(&mut self, level: String, text: &str) {
        if self.lines.len() == LINES {
            self.lines.remove(LINES / 2);
            self.left_out += 1;
        }
        self.lines.push(LogLine { at: Utc::now(), level, text: text.chars().take(LENGTH).collect() });
    }

    fn all(mut self) -> Vec<LogLine> {
        if self.left_out > 0
            && let Some(before) = self.lines.get(LINES / 2).cloned()
        {
            let text = format!("… {} lines were left out", self.left_out);
            self.lines.insert(LINES / 2, LogLine { text, ..before });
        }
        self.lines
    }
}

/// An event in words: its message, and then its other fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn joined(self) -> String {
        if self.message.is_empty() { self.fields.trim_start().to_owned() } else { self.message + &self.fields }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    fn texts(span: &Span) -> Vec<(String, String)> {
        take(span).into_iter().map(|line| (line.level, line.text)).collect()
    }

    #[test]
    fn an_item_has_the_lines_that_were_logged_inside_of_it() {
        tracing::subscriber::with_default(tracing_subscriber::registry().with(ItemLogs), || {
            let (one, other) = (tracing::info_span!("work"), tracing::info_span!("work"));
            one.in_scope(|| tracing::info!(base_model = "seedling", "loaded {}", "it"));
            note(&one, "generating");
            let inner = one.in_scope(|| tracing::info_span!("inside"));
            inner.in_scope(|| tracing::warn!("memory ran out"));
            tracing::info!("of nobody");
            let line = |level: &str, text: &str| (level.to_owned(), text.to_owned());
            assert_eq!(
                texts(&one),
                [
                    line("info", "loaded it base_model=\"seedling\""),
                    line("progress", "generating"),
                    line("warn", "memory ran out")
                ]
            );
            assert_eq!(texts(&one), [], "lines are taken once");
            assert_eq!(texts(&other), []);
        });
        assert_eq!(texts(&tracing::info_span!("work")), [], "nobody keeps lines");
    }

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let mut lines = Lines::default();
        for number in 0..1000 {
            lines.add("info".to_owned(), &format!("{number} {}", "x".repeat(2 * LENGTH)));
        }
        let all = lines.all();
        assert_eq!(all.len(), LINES + 1);
        assert!(all[0].text.starts_with("0 ") && all[LINES].text.starts_with("999 "));
        assert!(all.iter().any(|line| line.text == "… 800 lines were left out"));
        assert!(all.iter().all(|line| line.text.chars().count() <= LENGTH));
    }
}
