//! The server itself: liveness, readiness, and metrics for Prometheus.

use ::metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use actix_web::{HttpResponse, web};
use lyceum_store::gauges::{self, Count, RunGauge};
use lyceum_store::work::WorkState;
use lyceum_store::workers::WorkerState;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use sqlx::PgPool;
use std::fmt::Write as _;
use std::sync::OnceLock;

use crate::api_error::ApiError;
use crate::contract::{About, Endpoint};
use crate::lab::Lab;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let alive = About::new("healthz", "/healthz").says("Report that the process is alive.", "The process is alive");
    let alive = Endpoint::get(alive, "service", healthz).or_text("text/plain").open();
    let ready = About::new("readyz", "/readyz")
        .says("Report whether the server is ready: the database responds, and the disks have room.", "It is ready");
    let ready = Endpoint::get(ready, "service", readyz).or_text("text/plain").open();
    let prometheus = About::new("metrics", "/metrics").says("Show Prometheus metrics.", "Prometheus text format");
    let prometheus = Endpoint::get(prometheus, "service", metrics).or_text("text/plain");
    vec![alive, ready, prometheus]
}

async fn healthz() -> &'static str {
    "ok\n"
}

async fn readyz(lab: web::Data<Lab>) -> Result<&'static str, ApiError> {
    match sqlx::query("SELECT 1").execute(lab.store.pool()).await {
        Ok(_) => match lab.full_disk().await {
            None => Ok("ready\n"),
            Some(full) => {
                tracing::warn!("not ready: {full}");
                Err(ApiError::unavailable(full))
            }
        },
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not respond");
            Err(ApiError::unavailable("the database does not respond"))
        }
    }
}

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
    describe_gauge!("lyceum_work_oldest_ready_seconds", "How long the oldest item of a running run has been ready.");
    describe_gauge!("lyceum_executions", "Runs and evaluations.");
    describe_gauge!("lyceum_workers", "Present workers.");
    describe_gauge!("lyceum_large_bodies", "Datasets and artifacts being received.");
    describe_gauge!("lyceum_database_connections", "Open database connections.");
}

async fn metrics(lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let Some(handle) = install() else { return Err(ApiError::unavailable("metrics are not recorded")) };
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
    gauge!("lyceum_large_bodies").set(lab.places.taken() as f64);
    gauge!("lyceum_event_streams").set(lab.events.streams() as f64);
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(handle.render() + &render(db).await?))
}

/// The most running runs with lines of their own, which bounds the labels.
const RUNS: i64 = 50;

/// The lines about running runs.
pub(crate) async fn render(db: &PgPool) -> Result<String, ApiError> {
    Ok(lines(&gauges::running_runs(db, RUNS).await?))
}

fn lines(runs: &[RunGauge]) -> String {
    let mut text = String::new();
    let mut family = |name: &str, about: &str, value: &dyn Fn(&RunGauge) -> f64| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge");
        for run in runs {
            let _ = writeln!(text, "{name}{{{}}} {}", labels(run), value(run));
        }
    };
    family("lyceum_run_step", "Current step of a running run.", &|run| f64::from(run.step));
    family("lyceum_run_steps", "Number of steps of a running run.", &|run| f64::from(run.steps));
    family("lyceum_run_quiet_seconds", "Time since anything last happened to a running run.", &|run| run.quiet_seconds);
    let name = "lyceum_run_metric";
    let _ = writeln!(text, "# HELP {name} A metric of a running run in its last step.\n# TYPE {name} gauge");
    for run in runs {
        let known = run.metrics.iter().zip(&run.values).filter(|(_, value)| value.is_finite());
        for (metric, value) in known {
            let _ = writeln!(text, "{name}{{{},metric=\"{}\"}} {value}", labels(run), escaped(metric));
        }
    }
    text
}

fn labels(run: &RunGauge) -> String {
    format!("run=\"{}\",name=\"{}\",recipe=\"{}\"", run.id, escaped(&run.name), escaped(&run.recipe))
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_run_is_told_with_prometheus_and_its_name_breaks_no_line() {
        let run = RunGauge {
            id: Uuid::nil(),
            name: "a \"quoted\"\nname\\".to_owned(),
            recipe: "azr".to_owned(),
            step: 3,
            steps: 10,
            quiet_seconds: 1.5,
            metrics: vec!["solve_rate".to_owned(), "entropy".to_owned()],
            values: vec![0.25, f64::NAN],
        };
        let text = lines(&[run]);
        let labels = format!("run=\"{}\",name=\"a \\\"quoted\\\"\\nname\\\\\",recipe=\"azr\"", Uuid::nil());
        assert!(text.contains(&format!("lyceum_run_step{{{labels}}} 3\n")), "{text}");
        assert!(text.contains(&format!("lyceum_run_metric{{{labels},metric=\"solve_rate\"}} 0.25\n")), "{text}");
        assert!(!text.contains("entropy"));
    }
}
