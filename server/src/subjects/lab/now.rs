//! What the lab is doing: its running runs, its machines, and what went wrong.

use chrono::{TimeDelta, Utc};
use futures::future::try_join_all;
use lyceum_core::id::ExecutionId;
use lyceum_store::alerts::{self, Alert, AlertFilter};
use lyceum_store::crashes::{self, Crash};
use lyceum_store::executions::{self, Pace, State};
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, Run, RunFilter, RunSort};
use lyceum_store::standstill;
use lyceum_store::work::{self, Backlog};
use lyceum_store::workers::{self, Worker, WorkerFilter};
use serde::Serialize;

use crate::api_error::ApiError;
use crate::frame::view::View;
use crate::lab::Lab;
use crate::subjects::run::{Standstill, VerdictView, eta};

/// Maximum running runs and recent runs.
const RUNS: u32 = 8;
/// Days whose crashes are shown, and the most of them.
const CRASH_DAYS: i32 = 3;
const CRASHES: i64 = 5;
/// Hours whose alerts are shown, and the most of them.
const ALERT_HOURS: i64 = 24;
const ALERTS: u32 = 20;

/// A running run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Running {
    #[serde(flatten)]
    pub(super) run: Run,
    pace: Pace,
    pub(super) eta_seconds: Option<f64>,
    #[serde(flatten)]
    pub(super) standstill: Option<Standstill>,
    /// Only in JSON; the table has it in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<VerdictView>,
}

impl Running {
    async fn load(lab: &Lab, view: &View, run: Run) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let id = ExecutionId(run.id);
        let (pace, standstill) = futures::try_join!(executions::pace(db, id), standstill::find(db, id))?;
        Ok(Self {
            verdict: match view.is_json() {
                true => Some(VerdictView::load(lab, &runs::find(db, id).await?, view.may_write()).await?),
                false => None,
            },
            eta_seconds: eta(&run, &pace).filter(|_| standstill.is_none()),
            run,
            pace,
            standstill: standstill.map(Standstill::from),
        })
    }
}

/// The strip above the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Now {
    pub(super) running: Vec<Running>,
    /// Only in JSON: the verdict on the newest run, if none is running.
    latest: Option<VerdictView>,
    pub(super) recent: Vec<Run>,
    pub(super) workers: Vec<Worker>,
    pub(super) backlog: Vec<Backlog>,
    pub(super) crashes: Vec<Crash>,
    /// Which disk is full, and what to do.
    pub(super) full_disk: Option<String>,
    /// The newest of the last day.
    pub(super) alerts: Vec<Alert>,
    /// How many there are of the last day.
    pub(super) alert_count: i64,
}

impl Now {
    pub(super) async fn load(lab: &Lab, view: &View) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let newest = |limit| Window { limit, after: None, order: Order::Newest };
        let (is_running, any) =
            (RunFilter { state: Some(State::Running), ..RunFilter::default() }, RunFilter::default());
        let alive = WorkerFilter { alive: Some(true), ..WorkerFilter::default() };
        let (few, more, latest_alerts) = (newest(RUNS), newest(50), newest(ALERTS));
        let any_alert = AlertFilter::default();
        let since = Utc::now() - TimeDelta::hours(ALERT_HOURS);
        let (running, recent, workers, backlog, crashes, mut alerts, alert_count) = futures::try_join!(
            runs::page(db, &is_running, &RunSort::Age, &few),
            runs::page(db, &any, &RunSort::Age, &few),
            workers::page(db, &alive, &more),
            work::backlog(db),
            crashes::recent(db, CRASH_DAYS, CRASHES),
            alerts::page(db, &any_alert, &latest_alerts),
            alerts::count_since(db, since),
        )?;
        alerts.items.retain(|alert| alert.created_at > since);
        Ok(Self {
            latest: match (view.is_json() && running.items.is_empty(), recent.items.first()) {
                (true, Some(run)) => {
                    let detail = runs::find(db, ExecutionId(run.id)).await?;
                    Some(VerdictView::load(lab, &detail, view.may_write()).await?)
                }
                _ => None,
            },
            running: try_join_all(running.items.into_iter().map(|run| Running::load(lab, view, run))).await?,
            recent: recent.items,
            workers: workers.items,
            backlog,
            crashes,
            full_disk: lab.full_disk().await,
            alerts: alerts.items,
            alert_count,
        })
    }

    /// How many items wait, run, are stalled and failed.
    pub(super) fn work(&self) -> [(&'static str, i64); 4] {
        let sum = |of: fn(&Backlog) -> i64| self.backlog.iter().map(of).sum();
        [
            ("waiting", sum(|kind| kind.ready)),
            ("running", sum(|kind| kind.running)),
            ("stalled", sum(|kind| kind.stalled)),
            ("failed", sum(|kind| kind.failed)),
        ]
    }
}
