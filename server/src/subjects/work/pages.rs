//! `/work`: the queue by kind, and an item with its payload, result and errors.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::WorkId;
use lyceum_core::work::WorkKind;
use lyceum_store::runs;
use lyceum_store::work::{self, Backlog, TryLog, WorkDetail, WorkFilter, WorkItem, WorkState};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::Asked;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;
use crate::subjects::work::ItemFilter;

#[derive(Template, Serialize)]
#[template(path = "work.html")]
struct WorkPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    filter: WorkFilter,
    backlog: Vec<Backlog>,
    items: Vec<WorkItem>,
    /// The names of the runs whose items these are.
    #[serde(skip)]
    runs: Vec<(Uuid, String)>,
    #[serde(flatten)]
    pager: Pager,
}

impl WorkPage {
    fn states(&self) -> [(WorkState, bool); WorkState::ALL.len()] {
        WorkState::ALL.map(|state| (state, self.filter.state == Some(state)))
    }

    fn kinds(&self) -> [(WorkKind, bool); WorkKind::ALL.len()] {
        WorkKind::ALL.map(|kind| (kind, self.filter.kind == Some(kind)))
    }

    /// The name of the run that an item is of; `None` if it is of an evaluation.
    fn run_of(&self, item: &WorkItem) -> Option<&str> {
        let run = self.runs.iter().find(|(id, _)| *id == item.execution_id)?;
        Some(&run.1)
    }

    fn is_filtered(&self) -> bool {
        let filter = &self.filter;
        filter.execution.is_some()
            || filter.step.is_some()
            || filter.state.is_some()
            || filter.kind.is_some()
            || filter.worker.is_some()
    }
}

/// The progress of an item that a worker is at.
pub(crate) fn progress_of(item: &WorkItem) -> Option<&f32> {
    item.progress.as_ref().filter(|_| item.state == WorkState::Running)
}

/// A share in per cent.
pub(crate) fn share(progress: &f32) -> String {
    crate::frame::format::percent(&f64::from(*progress))
}

/// The duration of the last finished try of an item.
pub(crate) fn seconds_of(item: &WorkItem) -> Option<f64> {
    Some((item.finished_at? - item.started_at?).as_seconds_f64())
}

pub(crate) fn last_error(item: &WorkItem) -> Option<&str> {
    item.errors.as_array()?.last()?["message"].as_str()
}

#[get("/work")]
pub(crate) async fn show_queue(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<Asked<ItemFilter>>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = asked.listing("work")?;
    let filter = asked.filter.stored();
    let db = lab.store.pool();
    let (backlog, page) = futures::try_join!(work::backlog(db), work::page(db, &filter, listing.window()))?;
    let page = listing.page(page);
    let executions: BTreeSet<Uuid> = page.items.iter().map(|item| item.execution_id).collect();
    let runs = runs::names(db, &executions.into_iter().collect::<Vec<_>>()).await?;
    view.show(&WorkPage {
        layout: view.layout("Work", Section::Work),
        filter,
        backlog,
        items: page.items,
        runs,
        pager: view.pager(page.next),
    })
}

/// Maximum characters of a payload or a result on the page; the JSON has all.
const SHOWN: usize = 20_000;

#[derive(Debug)]
struct FailedTry {
    attempt: String,
    at: String,
    worker: String,
    kind: String,
    message: String,
}

#[derive(Template, Serialize)]
#[template(path = "work_item.html")]
struct WorkItemPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    work: WorkDetail,
    /// What workers said while they ran it, by try.
    logs: Vec<TryLog>,
    /// What every worker lacks that is present.
    lacks: Option<String>,
}

impl WorkItemPage {
    fn tries(&self) -> Vec<FailedTry> {
        let text = |value: &Value| match value {
            Value::Null => "–".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let errors = self.work.item.errors.as_array();
        errors
            .into_iter()
            .flatten()
            .map(|error| FailedTry {
                attempt: text(&error["attempt"]),
                at: text(&error["at"]),
                worker: text(&error["worker"]),
                kind: text(&error["kind"]),
                message: text(&error["message"]),
            })
            .collect()
    }

    fn payload(&self) -> String {
        serde_json::from_str(self.work.payload.get()).map_or_else(|error| error.to_string(), |value| shown(&value))
    }

    fn result(&self) -> Option<String> {
        self.work.result.as_ref().map(shown)
    }
}

fn shown(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}\n… {} bytes in total; see this page's JSON", &text[..end], text.len()),
        None => text,
    }
}

#[get("/work/{id}")]
pub(crate) async fn show_work_item(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<WorkId>,
) -> Result<HttpResponse, ApiError> {
    let work = work::find(lab.store.pool(), *id).await?;
    let logs = work::logs(lab.store.pool(), *id).await?;
    let lacks = work::lacks(lab.store.pool(), *id).await?;
    let item = &work.item;
    let title = format!("{} {} of step {}", item.phase, item.chunk, item.step);
    view.show(&WorkItemPage {
        layout: view.layout(title, Section::Work),
        work,
        logs,
        lacks: lacks.map(|lack| lack.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let text = shown(&Value::String("ü".repeat(SHOWN)));
        assert!(text.contains("40002 bytes in total"), "{}", text.len());
    }
}
