//! The current activity of a run: the part of its page that the script reloads while it runs.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use lyceum_store::executions::{self, Pace, State};
use lyceum_store::page::{Order, Window};
use lyceum_store::plan::{self, Refusal};
use lyceum_store::runs::Run;
use lyceum_store::standstill::{self, Reason};
use lyceum_store::steps::{self, PhaseProgress, Step};
use serde::Serialize;
use sqlx::PgPool;

use crate::api_error::ApiError;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::view::View;
use crate::lab::Lab;

/// Steps listed with their times.
const LAST_STEPS: u32 = 6;

/// The progress of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunNow {
    /// The phases of its current step.
    pub(crate) phases: Vec<PhaseProgress>,
    /// The duration of its steps.
    pub(crate) pace: Pace,
    /// Estimated seconds until the end.
    pub(crate) eta_seconds: Option<f64>,
    /// The time of the last activity, if that was over a minute ago, and why nothing moves.
    #[serde(flatten)]
    pub(crate) standstill: Option<Standstill>,
    /// Whether it computes on a GPU, where the last bits of an update vary.
    pub(crate) on_gpu: bool,
    /// Why a server cannot plan it, if it waits to be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<Refusal>,
    pub(crate) last_steps: Vec<Step>,
}

/// A run of which nothing has moved for a minute.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Standstill {
    pub(crate) last_event: DateTime<Utc>,
    /// Why, in words.
    pub(crate) standstill: String,
    /// Whether it waits for nothing that is known.
    pub(crate) is_stalled: bool,
}

impl From<(DateTime<Utc>, Reason)> for Standstill {
    fn from((last_event, reason): (DateTime<Utc>, Reason)) -> Self {
        Self { last_event, standstill: reason.to_string(), is_stalled: matches!(reason, Reason::Stalled) }
    }
}

impl RunNow {
    pub(crate) async fn load(db: &PgPool, run: &Run) -> Result<Self, ApiError> {
        let id = ExecutionId(run.id);
        let newest = Window { limit: LAST_STEPS, after: None, order: Order::Newest };
        let (phases, pace, standstill, on_gpu, refusal, last_steps) = futures::try_join!(
            steps::phases(db, id, run.step),
            executions::pace(db, id),
            standstill::find(db, id),
            executions::is_on_gpu(db, id),
            plan::refusal(db, id),
            steps::page(db, id, &newest),
        )?;
        Ok(Self {
            phases,
            eta_seconds: eta(run, &pace).filter(|_| standstill.is_none()),
            pace,
            standstill: standstill.map(Standstill::from),
            on_gpu,
            refusal,
            last_steps: last_steps.items,
        })
    }

    pub(crate) fn steps_a_minute(&self) -> Option<String> {
        rate(&self.pace)
    }

    /// Whether the recipe's steps belong to stages.
    pub(crate) fn has_stages(&self) -> bool {
        self.last_steps.iter().any(|step| !step.stage.is_empty())
    }

    pub(crate) fn overall_time(&self) -> String {
        format::duration(&self.phases.iter().map(|phase| phase.seconds).sum())
    }
}

/// Seconds until the end of `run` at its current speed.
pub(crate) fn eta(run: &Run, pace: &Pace) -> Option<f64> {
    let left = f64::from(run.steps - run.step);
    pace.median_seconds.filter(|_| run.state == State::Running).map(|seconds| seconds * left)
}

/// Steps per minute.
pub(crate) fn rate(pace: &Pace) -> Option<String> {
    let seconds = pace.median_seconds.filter(|seconds| *seconds > 0.0)?;
    let rate = 60.0 / seconds;
    Some(match rate {
        10.0.. => format!("{rate:.0}"),
        1.0.. => format!("{rate:.1}"),
        _ => format::value(&rate),
    })
}

/// The duration of a finished step.
pub(crate) fn seconds_of(step: &Step) -> Option<f64> {
    let end = step.finished_at?;
    Some((end - step.started_at).as_seconds_f64())
}

#[derive(Template, Serialize)]
#[template(path = "run/now.html")]
struct RunNowPart {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    #[serde(flatten)]
    now: RunNow,
}

/// Only this part of the page.
#[get("/runs/{id}/now")]
pub(crate) async fn show_run_now(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, *id, Tab::Result).await?;
    let now = RunNow::load(db, run.run()).await?;
    let layout = view.layout(run.run().name.clone(), Section::Runs);
    view.show(&RunNowPart { layout, run, now })
}
