//! Events of an evaluation.

use actix_web::{HttpRequest, HttpResponse, get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::evaluations;

use super::event_stream::{Events, WatchQuery, watch};
use crate::{api_error::ApiError, contract::Query, lab::Lab};

/// Watch the events of an evaluation.
///
/// The response is a stream (server-sent events) of past and future events, which ends when the evaluation ends. Each
/// event has its number as `id`, its kind as `event`, and all of it as JSON in `data`. A browser's `EventSource`
/// resumes by `Last-Event-ID`, others by `after`. When there will be no more events, the status is 204, so that an
/// `EventSource` does not reconnect. A request that accepts `application/json` gets the events so far.
#[utoipa::path(
    tag = "evaluations",
    params(
        ("id" = Uuid, Path, description = "The evaluation"),
        ("Last-Event-ID" = Option<i64>, Header, description = "The number of the last event the caller has"),
        WatchQuery,
    ),
    responses(
        (status = 200, description = "The events", content(
            (Events = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 204, description = "The evaluation has ended, and the caller has all its events"),
    ),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}/events")]
pub(crate) async fn watch_evaluation(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<WatchQuery>,
) -> Result<HttpResponse, ApiError> {
    let evaluation = evaluations::find(lab.store.pool(), *id).await?;
    watch(&request, &lab, *id, (evaluation.state, evaluation.last_event), query.0).await
}
