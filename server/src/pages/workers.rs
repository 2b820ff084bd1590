//! `/workers`: devices, memory and throughput.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_store::workers::{self, Throughput, UsageMinute, Worker, WorkerFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api_error::ApiError,
    contract::{Listing, Order},
    frame::{
        format,
        layout::{Layout, Section},
        view::{Filters, View},
    },
    lab::Lab,
};

/// Filters of workers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkersFilter {
    alive: Option<bool>,
    cursor: Option<String>,
    order: Option<Order>,
}

#[derive(Template, Serialize)]
#[template(path = "workers.html")]
struct WorkersPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    alive: Option<bool>,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
    items: Vec<Worker>,
    throughput: Vec<Throughput>,
    /// The newest minute of those that report.
    usage: Vec<UsageMinute>,
    next: Option<String>,
}

impl WorkersPage {
    fn done_by(&self, worker: &Worker) -> Option<&Throughput> {
        self.throughput.iter().find(|done| done.worker_id == worker.id)
    }

    fn shows(&self, alive: bool) -> bool {
        self.alive == Some(alive)
    }

    fn used_by(&self, worker: &Worker) -> Option<&UsageMinute> {
        self.usage.iter().find(|minute| minute.worker_id == worker.id)
    }
}

/// The memory of a device; that of a CPU is not limited by the worker.
pub(super) fn memory(worker: &Worker) -> String {
    if worker.memory_bytes == i64::MAX {
        return "the machine's".to_owned();
    }
    format::bytes(&worker.memory_bytes)
}

/// The versions of its libraries, in a line.
pub(super) fn versions(worker: &Worker) -> String {
    let versions = worker.versions.as_object();
    let text = |(name, value): (&String, &serde_json::Value)| {
        format!(
            "{name} {}",
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        )
    };
    versions.into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

/// Items per minute finished by a worker in the last ten minutes.
#[expect(clippy::cast_precision_loss, reason = "shown to four digits")]
pub(crate) fn a_minute(done: &Throughput) -> String {
    format::value(&(done.items as f64 / 10.0))
}

/// A worker's mean time per item.
#[expect(clippy::cast_precision_loss, reason = "shown to four digits")]
pub(crate) fn an_item(done: &Throughput) -> String {
    format::duration(&(done.seconds / done.items.max(1) as f64))
}

#[get("/workers")]
pub(crate) async fn show_all_workers(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<WorkersFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = Listing::new("workers", None, asked.cursor.as_deref(), asked.order)?;
    let filter = WorkerFilter {
        alive: asked.alive,
        ..WorkerFilter::default()
    };
    let db = lab.store.pool();
    let page = listing.page(workers::page(db, &filter, listing.window()).await?);
    let alive = page.items.iter().filter(|worker| worker.stopped_at.is_none());
    let alive: Vec<uuid::Uuid> = alive.map(|worker| worker.id).collect();
    let throughput = workers::throughput(db, &alive).await?;
    let usage = workers::newest_usage(db, &alive).await?;
    view.show(&WorkersPage {
        layout: view.layout("Workers", Section::Workers),
        alive: asked.alive,
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.map(|_| view.with_cursor(None)),
        items: page.items,
        throughput,
        usage,
        next: page.next,
    })
}
