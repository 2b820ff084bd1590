//! `/work`: the queue by kind, and its items.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{
    id::{ExecutionId, WorkerId},
    work::WorkKind,
};
use lyceum_store::work::{self, Backlog, WorkFilter, WorkItem, WorkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    filters::Filters,
    layout::{Layout, Section},
    view::View,
};
use crate::{
    api::{Api, Listing, Order},
    api_error::ApiError,
};

/// Filters of items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemsFilter {
    run: Option<Uuid>,
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    state: Option<WorkState>,
    kind: Option<WorkKind>,
    worker: Option<Uuid>,
    cursor: Option<String>,
    order: Option<Order>,
}

#[derive(Template, Serialize)]
#[template(path = "work.html")]
struct WorkPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    filter: WorkFilter,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
    backlog: Vec<Backlog>,
    items: Vec<WorkItem>,
    next: Option<String>,
}

impl WorkPage {
    fn states(&self) -> [(WorkState, bool); WorkState::ALL.len()] {
        WorkState::ALL.map(|state| (state, self.filter.state == Some(state)))
    }

    fn kinds(&self) -> [(WorkKind, bool); WorkKind::ALL.len()] {
        WorkKind::ALL.map(|kind| (kind, self.filter.kind == Some(kind)))
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

/// The state of an item.
pub(crate) fn share(progress: &f32) -> String {
    super::format::percent(&f64::from(*progress))
}

/// The duration of the last finished try of an item.
pub(crate) fn seconds_of(item: &WorkItem) -> Option<f64> {
    Some((item.finished_at? - item.started_at?).as_seconds_f64())
}

/// The last error.
pub(crate) fn last_error(item: &WorkItem) -> Option<&str> {
    item.errors.as_array()?.last()?["message"].as_str()
}

/// The queue.
#[get("/work")]
pub(crate) async fn show_queue(
    view: View,
    api: web::Data<Api>,
    filters: Filters<ItemsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = Listing::new("work", None, asked.cursor.as_deref(), asked.order)?;
    let filter = WorkFilter {
        execution: asked.run.map(ExecutionId),
        step: asked.step,
        state: asked.state,
        kind: asked.kind,
        worker: asked.worker.map(WorkerId),
    };
    let db = api.store.pool();
    let (backlog, page) = futures::try_join!(work::backlog(db), work::page(db, &filter, listing.window()))?;
    let page = listing.page(page);
    view.show(&WorkPage {
        layout: view.layout("Work", Section::Work),
        filter,
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.map(|_| view.with_cursor(None)),
        backlog,
        items: page.items,
        next: page.next,
    })
}
