//! Events of a run or an evaluation, as they happen.

use actix_web::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse, Responder as _};
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use lyceum_core::id::ExecutionId;
use lyceum_store::event::{self, Event};
use lyceum_store::executions::State;
use lyceum_store::{StoreError, evaluations, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;
use utoipa::openapi::Type;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query};
use crate::lab::Lab;

/// Maximum events in a JSON response.
const BATCH: i64 = 1000;

/// The position in the stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchQuery {
    /// The number of the last event the caller has; by default the stream starts with the first event.
    #[schemars(range(min = 0))]
    after: Option<i64>,
}

/// Events of a run or an evaluation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Events {
    /// At most a thousand events, in the order of their numbers.
    items: Vec<Event>,
}

/// Responds with the events of `id`, which is in `state`; its last event has the number `last_event`.
pub(crate) async fn watch(
    request: &HttpRequest,
    lab: &Lab,
    id: ExecutionId,
    (state, last_event): (State, i64),
    query: WatchQuery,
) -> Result<HttpResponse, ApiError> {
    let after = match last_event_id(request)? {
        Some(last) => last,
        None => query.after.unwrap_or(0),
    };
    let accepts = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepts.contains("application/json") && !accepts.contains("text/event-stream") {
        let items = event::after(lab.store.pool(), id, after, BATCH).await?;
        return Ok(Answer::ok(Events { items }).respond_to(request));
    }
    let over = matches!(state, State::Completed | State::Failed | State::Cancelled);
    if over {
        // An evaluation of the run adds events after the one that ended it, so waiting for that one could take forever.
        return Ok(match after >= last_event {
            true => HttpResponse::NoContent().finish(),
            false => streamed(past(lab.store.pool().clone(), id, after), lab),
        });
    }
    Ok(streamed(lab.events.watch(id, after).await?, lab))
}

/// The events after number `after` that there are.
fn past(db: PgPool, id: ExecutionId, after: i64) -> impl Stream<Item = lyceum_store::Result<Arc<Event>>> {
    let batches = stream::try_unfold(after, move |after| {
        let db = db.clone();
        async move {
            let events = event::after(&db, id, after, BATCH).await?;
            let last = events.last().map(|event| event.number);
            let events = stream::iter(events.into_iter().map(|event| Ok(Arc::new(event))));
            Ok::<_, StoreError>(last.map(|last| (events, last)))
        }
    });
    batches.try_flatten()
}

fn streamed(events: impl Stream<Item = lyceum_store::Result<Arc<Event>>> + 'static, lab: &Lab) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        // Asks a proxy (nginx) not to buffer.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(lines(events, lab.settings.keep_alive))
}

fn last_event_id(request: &HttpRequest) -> Result<Option<i64>, ApiError> {
    let Some(value) = request.headers().get("last-event-id") else { return Ok(None) };
    match value.to_str().ok().and_then(|text| text.parse().ok()) {
        Some(last) if last >= 0 => Ok(Some(last)),
        _ => Err(ApiError::invalid_header("last-event-id", "send the number of an event")),
    }
}

/// The stream as sent: events, and a comment after every `keep_alive` without an event.
fn lines(
    events: impl Stream<Item = lyceum_store::Result<Arc<Event>>> + 'static,
    keep_alive: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let beginning = stream::iter([Ok(Bytes::from_static(b"retry: 2000\n\n"))]);
    beginning.chain(stream::unfold(Box::pin(events), move |mut events| async move {
        let quiet = pin!(sleep_until(Instant::now() + keep_alive));
        let line = tokio::select! {
            event = events.next() => match event? {
                Ok(event) => line(&event),
                Err(error) => {
                    // The caller reconnects and resumes.
                    tracing::warn!(%error, "an event stream ended early");
                    return None;
                }
            },
            () = quiet => Bytes::from_static(b": nothing new\n\n"),
        };
        Some((Ok(line), events))
    }))
}

fn line(event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_default();
    Bytes::from(format!("id: {}\nevent: {}\ndata: {data}\n\n", event.number, event.kind))
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let of_run = About::new("watch_run", "/runs/{id}/events").says("Watch the events of a run.", "The events");
    let of_evaluation = About::new("watch_evaluation", "/evaluations/{id}/events")
        .says("Watch the events of an evaluation.", "The events");
    let of_run = Endpoint::get(of_run, "runs", watch_run).id("id", "The run");
    let of_evaluation = Endpoint::get(of_evaluation, "evaluations", watch_evaluation).id("id", "The evaluation");
    vec![watched(of_run, "run"), watched(of_evaluation, "evaluation")]
}

/// The endpoint with what the events of a run and those of an evaluation have in common.
fn watched(endpoint: Endpoint, what: &str) -> Endpoint {
    let last = "The number of the last event the caller has";
    let endpoint = endpoint.header("Last-Event-ID", last, Type::Integer).query::<WatchQuery>().answers::<Events>();
    let endpoint = endpoint.or_text("text/event-stream");
    let over = format!("The {what} has ended, and the caller has all its events");
    endpoint.or("204", &over).describe(&format!(
        "The response is a stream (server-sent events) of past and future events, which ends when the {what} \
        ends. Each event has its number as `id`, its kind as `event`, and all of it as JSON in `data`. A browser's \
        `EventSource` resumes by `Last-Event-ID`, others by `after`. When there will be no more events, the status \
        is 204, so that an `EventSource` does not reconnect. A request that accepts `application/json` gets the \
        events so far."
    ))
}

async fn watch_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<WatchQuery>,
) -> Result<HttpResponse, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?.run;
    watch(&request, &lab, *id, (run.state, run.last_event), query.0).await
}

async fn watch_evaluation(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<WatchQuery>,
) -> Result<HttpResponse, ApiError> {
    let evaluation = evaluations::find(lab.store.pool(), *id).await?;
    watch(&request, &lab, *id, (evaluation.state, evaluation.last_event), query.0).await
}
