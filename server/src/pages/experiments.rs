//! `/experiments`: the list of experiments.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_store::experiments::{self, Experiment, ExperimentFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api_error::ApiError,
    contract::{Listing, Order},
    frame::{
        layout::{Layout, Section},
        view::{Filters, View},
    },
    lab::Lab,
};

/// Filters of experiments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExperimentsFilter {
    name: Option<String>,
    tag: Option<String>,
    cursor: Option<String>,
    order: Option<Order>,
}

/// An experiment and the number of its runs.
#[derive(Debug, Serialize)]
struct Counted {
    #[serde(flatten)]
    experiment: Experiment,
    runs: i64,
    open_runs: i64,
}

#[derive(Template, Serialize)]
#[template(path = "experiments.html")]
struct ExperimentsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    filter: ExperimentFilter,
    #[serde(skip)]
    oldest_first: bool,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
    items: Vec<Counted>,
    next: Option<String>,
}

impl ExperimentsPage {
    fn is_filtered(&self) -> bool {
        self.filter.name.is_some() || self.filter.tag.is_some()
    }
}

/// The list of experiments.
#[get("/experiments")]
pub(crate) async fn show_experiments(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<ExperimentsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = Listing::new("experiments", None, asked.cursor.as_deref(), asked.order)?;
    let db = lab.store.pool();
    let filter = ExperimentFilter {
        name: asked.name,
        tag: asked.tag,
    };
    let page = listing.page(experiments::page(db, &filter, listing.window()).await?);
    let ids: Vec<_> = page.items.iter().map(|experiment| experiment.id).collect();
    let counts = experiments::run_counts(db, &ids).await?;
    let counted = page.items.into_iter().map(|experiment| {
        let found = counts.iter().find(|(id, ..)| *id == experiment.id);
        let (runs, open_runs) = found.map_or((0, 0), |(_, runs, open)| (*runs, *open));
        Counted {
            experiment,
            runs,
            open_runs,
        }
    });
    view.show(&ExperimentsPage {
        layout: view.layout("Experiments", Section::Experiments),
        items: counted.collect(),
        filter,
        oldest_first: asked.order == Some(Order::Oldest),
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.map(|_| view.with_cursor(None)),
        next: page.next,
    })
}
