//! Prometheus metrics. All labels are bounded: of runs only those that are running are told, and problems and members are in
//! the database, not here.

mod runs;

use ::metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use actix_web::{HttpResponse, get, web};
use lyceum_store::{
    gauges::{self, Count},
    work::WorkState,
    workers::WorkerState,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

use crate::{api_error::ApiError, lab::Lab};

/// Histogram buckets for durations, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Starts recording; the process has one recorder.
pub(crate) fn install() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let made = HANDLE.get_or_init(|| {
        let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS);
        match builder.map(PrometheusBuilder::build_recorder) {
            Ok(recorder) => {
                let handle = recorder.handle();
                ::metrics::set_global_recorder(recorder).ok()?;
                describe();
                Some(handle)
            }
            Err(error) => {
                tracing::error!(%error, "metrics are not recorded");
                None
            }
        }
    });
    made.as_ref()
}

fn describe() {
    describe_counter!("lyceum_http_requests_total", "Requests answered.");
    describe_histogram!("lyceum_http_request_duration_seconds", "Response time of requests.");
    describe_counter!("lyceum_failed_logins_total", "Wrong tokens and sessions.");
    describe_gauge!("lyceum_event_streams", "Open event streams.");
    describe_gauge!("lyceum_work_items", "Work items that are ready or running.");
    describe_gauge!(
        "lyceum_work_oldest_ready_seconds",
        "How long the oldest item of a running run has been ready."
    );
    describe_gauge!("lyceum_executions", "Runs and evaluations.");
    describe_gauge!("lyceum_workers", "Present workers.");
    describe_gauge!("lyceum_large_bodies", "Datasets and artifacts being received.");
    describe_gauge!("lyceum_database_connections", "Open database connections.");
}

/// Show Prometheus metrics.
#[utoipa::path(
    tag = "service",
    responses((status = 200, description = "Prometheus text format", body = String)),
    security(("token" = ["read"]))
)]
#[get("/metrics")]
pub(crate) async fn metrics(lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let Some(handle) = install() else {
        return Err(ApiError::unavailable("metrics are not recorded"));
    };
    let db = lab.store.pool();
    let states = [WorkState::Ready, WorkState::Running];
    for kind in lyceum_core::work::WorkKind::ALL {
        for state in states {
            gauge!("lyceum_work_items", "kind" => kind.name(), "state" => state.name()).set(0.0);
        }
    }
    for state in [WorkerState::Idle, WorkerState::Busy, WorkerState::Draining] {
        gauge!("lyceum_workers", "state" => state.name()).set(0.0);
    }
    for state in lyceum_store::executions::State::ALL {
        for kind in ["run", "evaluation"] {
            gauge!("lyceum_executions", "kind" => kind, "state" => state.name()).set(0.0);
        }
    }
    for Count { kind, state, count } in gauges::open_work(db).await? {
        gauge!("lyceum_work_items", "kind" => kind, "state" => state).set(count as f64);
    }
    for Count { kind, state, count } in gauges::executions(db).await? {
        gauge!("lyceum_executions", "kind" => kind, "state" => state).set(count as f64);
    }
    for Count { state, count, .. } in gauges::workers(db).await? {
        gauge!("lyceum_workers", "state" => state).set(count as f64);
    }
    gauge!("lyceum_work_oldest_ready_seconds").set(gauges::oldest_ready_seconds(db).await?.unwrap_or(0.0));
    gauge!("lyceum_database_connections").set(f64::from(db.size()));
    let places = lab.settings.large_bodies.saturating_sub(lab.places.available_permits());
    gauge!("lyceum_large_bodies").set(places as f64);
    gauge!("lyceum_event_streams").set(lab.events.streams() as f64);
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(handle.render() + &runs::render(db).await?))
}
