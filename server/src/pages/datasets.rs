//! `/datasets`: imported datasets by purpose.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::dataset::Purpose;
use lyceum_store::datasets::{self, Dataset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api::DatasetPurpose,
    api_error::ApiError,
    contract::{Listing, Order},
    frame::{
        layout::{Layout, Section},
        view::{Filters, View},
    },
    lab::Lab,
};

/// Filters of datasets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatasetsFilter {
    purpose: Option<DatasetPurpose>,
    cursor: Option<String>,
    order: Option<Order>,
}

#[derive(Template, Serialize)]
#[template(path = "datasets.html")]
struct DatasetsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<Dataset>,
    next: Option<String>,
    #[serde(skip)]
    purpose: Option<Purpose>,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
}

impl DatasetsPage {
    /// Names of purposes, and whether each was chosen.
    fn purposes(&self) -> Vec<(&'static str, bool)> {
        let all = Purpose::ALL.iter();
        all.map(|purpose| (purpose.name(), self.purpose == Some(*purpose)))
            .collect()
    }
}

/// The list of datasets.
#[get("/datasets")]
pub(crate) async fn show_datasets(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<DatasetsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = Listing::new("datasets", None, asked.cursor.as_deref(), asked.order)?;
    let purpose = asked.purpose.map(Purpose::from);
    let page = listing.page(datasets::page(lab.store.pool(), purpose, listing.window()).await?);
    view.show(&DatasetsPage {
        layout: view.layout("Datasets", Section::Datasets),
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.map(|_| view.with_cursor(None)),
        items: page.items,
        next: page.next,
        purpose,
    })
}
