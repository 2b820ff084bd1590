//! Processes that do the work: `/workers`.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use lyceum_core::id::WorkerId;
use lyceum_store::workers::{self, Throughput, UsageMinute, Worker, WorkerFilter};
use serde::Serialize;

use crate::api_error::ApiError;
use crate::contract::{About, Asked, Endpoint, Filter, list, show};
use crate::frame::figure::{Figure, Series};
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

impl Filter for WorkerFilter {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let all = About::new("list_workers", "/workers").says("List workers.", "A page of workers");
    let one = About::new("show_worker", "/workers/{id}").says("Show a worker.", "The worker");
    vec![list(all, "workers", workers::page), show(one, "workers", workers::find).id("id", "The worker")]
}

#[derive(Template, Serialize)]
#[template(path = "workers.html")]
struct WorkersPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    alive: Option<bool>,
    items: Vec<Worker>,
    throughput: Vec<Throughput>,
    /// The newest minute of those that report.
    usage: Vec<UsageMinute>,
    #[serde(flatten)]
    pager: Pager,
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
pub(crate) fn memory(worker: &Worker) -> String {
    if worker.memory_bytes == i64::MAX {
        return "the machine's".to_owned();
    }
    format::bytes(&worker.memory_bytes)
}

/// The versions of its libraries, in a line.
pub(crate) fn versions(worker: &Worker) -> String {
    let versions = worker.versions.as_object();
    let text = |(name, value): (&String, &serde_json::Value)| {
        format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
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
    filters: Filters<Asked<WorkerFilter>>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = asked.listing("workers")?;
    let db = lab.store.pool();
    let page = listing.page(workers::page(db, &asked.filter, listing.window()).await?);
    let alive = page.items.iter().filter(|worker| worker.stopped_at.is_none());
    let alive: Vec<uuid::Uuid> = alive.map(|worker| worker.id).collect();
    let throughput = workers::throughput(db, &alive).await?;
    let usage = workers::newest_usage(db, &alive).await?;
    view.show(&WorkersPage {
        layout: view.layout("Workers", Section::Workers),
        alive: asked.filter.alive,
        items: page.items,
        throughput,
        usage,
        pager: view.pager(page.next),
    })
}

/// Hours that are shown.
const HOURS: u32 = 24;
/// The x of minutes is in hours.
const MINUTES: f64 = 60.0;
/// Minutes without a report that make a gap.
const GAP: i64 = 2;

#[derive(Template, Serialize)]
#[template(path = "worker.html")]
struct WorkerPage {
    #[serde(skip)]
    layout: Layout,
    worker: Worker,
    throughput: Option<Throughput>,
    /// Its minutes, the oldest first.
    usage: Vec<UsageMinute>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl WorkerPage {
    fn memory(&self) -> String {
        memory(&self.worker)
    }

    fn versions(&self) -> String {
        versions(&self.worker)
    }
}

#[get("/workers/{id}")]
pub(crate) async fn show_one_worker(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<WorkerId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let worker = workers::find(db, *id).await?;
    let usage = workers::usage(db, *id, HOURS).await?;
    let throughput = workers::throughput(db, &[worker.id]).await?.into_iter().next();
    view.show(&WorkerPage {
        layout: view.layout(format!("Worker {}", worker.name), Section::Workers),
        figures: figures(&usage, Utc::now()),
        worker,
        throughput,
        usage,
    })
}

/// The charts, over the hours until `now`. Those of a GPU are left out where there is none.
fn figures(usage: &[UsageMinute], now: DateTime<Utc>) -> Vec<Figure> {
    const GIB: f64 = 1_073_741_824.0;
    let figure = |id: &str, title: &str, unit: &'static str, value: &dyn Fn(&UsageMinute) -> Option<f64>| {
        let points = curve(usage, now, value);
        let most = points.iter().filter_map(|(_, y)| *y).reduce(f64::max)?;
        Some(Figure {
            id: id.to_owned(),
            title: title.to_owned(),
            x: "hours until now".to_owned(),
            y: unit.to_owned(),
            unit,
            range: Some([0.0, most.ceil().max(1.0)]),
            continuous: true,
            exact: true,
            series: vec![Series { name: title.to_owned(), points, ..Series::default() }],
            ..Figure::default()
        })
    };
    let all = [
        figure("cores", "Processor cores in use", "cores", &|minute| Some(f64::from(minute.cores))),
        figure("memory", "Memory", "GiB", &|minute| Some(minute.memory_bytes as f64 / GIB)),
        figure("gpu", "GPU in use", "share", &|minute| minute.gpu_share.map(f64::from)),
        figure("gpu-memory", "GPU memory", "GiB", &|minute| minute.gpu_memory_bytes.map(|bytes| bytes as f64 / GIB)),
    ];
    all.into_iter().flatten().collect()
}

/// A curve over hours, up to 0, which is now. Where the worker did not report there is a gap.
fn curve(
    usage: &[UsageMinute],
    now: DateTime<Utc>,
    value: &dyn Fn(&UsageMinute) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let hours = |at: DateTime<Utc>| at.signed_duration_since(now).num_seconds() as f64 / (60.0 * MINUTES);
    let mut points = Vec::new();
    let mut last: Option<DateTime<Utc>> = None;
    for minute in usage {
        if let Some(last) = last.filter(|last| minute.minute - *last > TimeDelta::minutes(GAP)) {
            points.push((hours(last + TimeDelta::minutes(1)), None));
        }
        points.push((hours(minute.minute), value(minute)));
        last = Some(minute.minute);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn minute(ago: i64, gpu: Option<f32>) -> UsageMinute {
        UsageMinute {
            worker_id: Uuid::nil(),
            minute: DateTime::UNIX_EPOCH - TimeDelta::minutes(ago),
            cores: 1.5,
            memory_bytes: 1 << 30,
            gpu_share: gpu,
            gpu_memory_bytes: gpu.map(|_| 1 << 31),
        }
    }

    #[test]
    fn a_worker_that_was_away_has_a_gap() {
        let usage = [minute(90, None), minute(30, None), minute(29, None)];
        let points = curve(&usage, DateTime::UNIX_EPOCH, &|minute| Some(f64::from(minute.cores)));
        let found: Vec<(f64, Option<f64>)> = points.iter().map(|(x, y)| ((x * 60.0).round(), *y)).collect();
        assert_eq!(found, [(-90.0, Some(1.5)), (-89.0, None), (-30.0, Some(1.5)), (-29.0, Some(1.5))]);
    }

    #[test]
    fn charts_of_a_gpu_are_where_there_is_one() {
        let ids = |usage: &[UsageMinute]| {
            let figures = figures(usage, DateTime::UNIX_EPOCH);
            figures.into_iter().map(|figure| figure.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[minute(1, None)]), ["cores", "memory"]);
        assert_eq!(ids(&[minute(1, Some(0.5))]), ["cores", "memory", "gpu", "gpu-memory"]);
        assert_eq!(ids(&[]), [""; 0]);
    }
}
