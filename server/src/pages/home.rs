//! `/`: running runs, workers, and first steps.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    crashes::{self, Crash},
    executions::{self, Pace, State},
    page::{Order, Window},
    runs::{self, Run, RunFilter, RunSort},
    work::{self, Backlog},
    workers::{self, Worker, WorkerFilter},
};
use serde::Serialize;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::View,
    },
    lab::Lab,
    subjects::run::{VerdictView, eta, rate},
};

/// Maximum running runs and recent runs shown.
const RUNS: u32 = 8;
/// Crashes of the last days are shown, at most so many.
const CRASH_DAYS: i32 = 3;
const CRASHES: i64 = 5;

/// A running run.
#[derive(Clone, Debug, Serialize)]
struct Running {
    #[serde(flatten)]
    run: Run,
    pace: Pace,
    eta_seconds: Option<f64>,
    stalled_since: Option<DateTime<Utc>>,
    verdict: VerdictView,
}

impl Running {
    async fn load(lab: &Lab, run: Run, may_write: bool) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let id = ExecutionId(run.id);
        let (pace, stalled_since) = futures::try_join!(executions::pace(db, id), executions::stalled_since(db, id))?;
        Ok(Self {
            verdict: VerdictView::load(lab, &runs::find(db, id).await?, may_write).await?,
            eta_seconds: eta(&run, &pace).filter(|_| stalled_since.is_none()),
            run,
            pace,
            stalled_since,
        })
    }

    fn rate(&self) -> Option<String> {
        rate(&self.pace)
    }
}

/// Its progress.
#[derive(Clone, Debug, Serialize)]
struct Now {
    running: Vec<Running>,
    /// The verdict on the newest run, if none is running.
    latest: Option<VerdictView>,
    recent: Vec<Run>,
    workers: Vec<Worker>,
    backlog: Vec<Backlog>,
    crashes: Vec<Crash>,
}

impl Now {
    async fn load(lab: &Lab, may_write: bool) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let newest = |limit| Window {
            limit,
            after: None,
            order: Order::Newest,
        };
        let (is_running, any) = (
            RunFilter {
                state: Some(State::Running),
                ..RunFilter::default()
            },
            RunFilter::default(),
        );
        let alive = WorkerFilter {
            alive: Some(true),
            ..WorkerFilter::default()
        };
        let (few, more) = (newest(RUNS), newest(50));
        let (running, recent, workers, backlog, crashes) = futures::try_join!(
            runs::page(db, &is_running, &RunSort::Age, &few),
            runs::page(db, &any, &RunSort::Age, &few),
            workers::page(db, &alive, &more),
            work::backlog(db),
            crashes::recent(db, CRASH_DAYS, CRASHES),
        )?;
        Ok(Self {
            latest: match (running.items.is_empty(), recent.items.first()) {
                (true, Some(run)) => {
                    let detail = runs::find(db, ExecutionId(run.id)).await?;
                    Some(VerdictView::load(lab, &detail, may_write).await?)
                }
                _ => None,
            },
            running: try_join_all(running.items.into_iter().map(|run| Running::load(lab, run, may_write))).await?,
            recent: recent.items,
            workers: workers.items,
            backlog,
            crashes,
        })
    }
}

#[derive(Template, Serialize)]
#[template(path = "home.html")]
struct HomePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    now: Now,
}

/// The start page.
#[get("/")]
pub(crate) async fn show_home(view: View, lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    view.show(&HomePage {
        layout: view.layout("Now", Section::Home),
        now: Now::load(&lab, view.may_write()).await?,
    })
}
