//! `/runs/{id}`: the verdict on a run, its held-out accuracy, and its progress.

mod changes;
pub(super) mod held_out;
pub(super) mod now;
pub(super) mod verdict;

use actix_web::http::header;
use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::evaluations;
use lyceum_store::executions::State;
use lyceum_store::metrics::MetricRow;
use lyceum_store::runs::Run;
use serde::Serialize;
use serde_json::json;

use self::changes::Changes;
use self::held_out::{Curve, HeldOutView};
use self::now::RunNow;
use self::verdict::VerdictView;
use super::curves;
use crate::api_error::ApiError;
use crate::frame::figure::island;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::view::View;
use crate::lab::Lab;

#[derive(Template, Serialize)]
#[template(path = "run/result.html")]
struct ResultPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    verdict: VerdictView,
    #[serde(flatten)]
    now: RunNow,
    #[serde(flatten)]
    held_out: HeldOutView,
    /// None without a result on held-out problems that can be compared.
    changes: Option<Changes>,
    /// The run's own metrics, which this page once drew.
    metrics: Vec<MetricRow>,
}

impl ResultPage {
    /// The script's data.
    fn data(&self) -> String {
        let run = self.run.run();
        island(&json!({"run": run.id, "state": run.state, "last_event": run.last_event}))
    }

    /// Shell commands equivalent to the page's buttons and forms.
    fn commands(&self) -> String {
        let run = self.run.run();
        let line = |method: &str, path: &str, body: &str| {
            let body = if body.is_empty() {
                String::new()
            } else {
                format!(" -H 'Content-Type: application/json' -d '{body}'")
            };
            format!(
                "curl -X {method} -H \"Authorization: Bearer $TOKEN\"{body} '{}/api/v1/runs/{}{path}'",
                self.layout.origin, run.id
            )
        };
        let mut lines = Vec::new();
        match run.state {
            State::Running => lines.push(line("POST", "/pause", "")),
            State::Paused => lines.push(line("POST", "/resume", "")),
            _ => {}
        }
        if self.run.is_open() {
            lines.push(line("POST", "/cancel", ""));
        }
        let fork = format!("{{\"step\": {}}}", self.run.fork_step());
        lines.push(line("POST", "/fork", &fork));
        lines.push(line("PATCH", "", r#"{"name": "…", "tags": ["…"], "note": "…"}"#));
        lines.join("\n")
    }

    fn config_text(&self) -> String {
        serde_json::to_string_pretty(&self.run.detail.config).unwrap_or_default()
    }
}

/// The title of the tab: how far a run is while it goes on, and its name.
fn title(run: &Run) -> String {
    if run.state.is_open() { format!("{}/{} · {}", run.step, run.steps, run.name) } else { run.name.clone() }
}

#[get("/runs/{id}")]
pub(crate) async fn show_result(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let curve = Curve::of(&view)?;
    let run = match RunFrame::load(&lab, *id, Tab::Result).await {
        // Work items link to evaluations as if they were runs.
        Err(_) if evaluations::find(db, *id).await.is_ok() => {
            let there = (header::LOCATION, format!("/evaluations/{id}"));
            return Ok(HttpResponse::SeeOther().insert_header(there).finish());
        }
        loaded => loaded?,
    };
    let (verdict, now, held_out, changes, (metrics, _)) = futures::try_join!(
        VerdictView::load(&lab, &run.detail, view.may_write()),
        RunNow::load(db, run.run()),
        HeldOutView::load(db, &run, curve),
        Changes::load(db, *id),
        curves::rows(db, &run),
    )?;
    view.show(&ResultPage {
        layout: view.layout(title(run.run()), Section::Runs),
        verdict,
        now,
        held_out,
        changes,
        metrics,
        run,
    })
}
