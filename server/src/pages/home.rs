//! `/`: running runs, workers, and first steps.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    executions::{self, Pace, State},
    page::{Order, Window},
    runs::{self, Run, RunFilter, RunSort},
    work::{self, Backlog},
    workers::{self, Worker, WorkerFilter},
};
use serde::Serialize;
use sqlx::PgPool;

use super::{
    layout::{Layout, Section},
    run_now::{eta, rate},
    view::View,
};
use crate::{api::Api, api_error::ApiError};

/// Maximum running runs and recent runs shown.
const RUNS: u32 = 8;

/// A running run.
#[derive(Clone, Debug, Serialize)]
struct Running {
    #[serde(flatten)]
    run: Run,
    pace: Pace,
    eta_seconds: Option<f64>,
    stalled_since: Option<DateTime<Utc>>,
}

impl Running {
    async fn load(db: &PgPool, run: Run) -> Result<Self, ApiError> {
        let id = ExecutionId(run.id);
        let (pace, stalled_since) = futures::try_join!(executions::pace(db, id), executions::stalled_since(db, id))?;
        Ok(Self {
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
    recent: Vec<Run>,
    workers: Vec<Worker>,
    backlog: Vec<Backlog>,
}

impl Now {
    async fn load(db: &PgPool) -> Result<Self, ApiError> {
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
        let (running, recent, workers, backlog) = futures::try_join!(
            runs::page(db, &is_running, RunSort::Age, &few),
            runs::page(db, &any, RunSort::Age, &few),
            workers::page(db, &alive, &more),
            work::backlog(db),
        )?;
        Ok(Self {
            running: try_join_all(running.items.into_iter().map(|run| Running::load(db, run))).await?,
            recent: recent.items,
            workers: workers.items,
            backlog,
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
pub(crate) async fn show_home(view: View, api: web::Data<Api>) -> Result<HttpResponse, ApiError> {
    view.show(&HomePage {
        layout: view.layout("Now", Section::Home),
        now: Now::load(api.store.pool()).await?,
    })
}
