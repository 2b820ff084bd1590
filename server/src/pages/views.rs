//! `/views`: saved views and share links.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_store::{
    page::{Order, Window},
    shares::{self, Share},
    views::{self, View as SavedView},
};
use serde::Serialize;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::View,
    },
    lab::Lab,
};

/// Views and links that are shown.
const SHOWN: u32 = 200;

#[derive(Template, Serialize)]
#[template(path = "saved_views.html")]
struct ViewsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<SavedView>,
    /// Share links, for those who may create some.
    shares: Option<Vec<Share>>,
    /// Whether there are more views than are shown.
    more_views: bool,
    /// Whether there are more links.
    more_shares: bool,
}

/// The list of views.
#[get("/views")]
pub(crate) async fn show_views(view: View, lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let newest = Window {
        limit: SHOWN,
        after: None,
        order: Order::Newest,
    };
    let saved = views::page(db, &newest).await?;
    let shares = match view.may_write() {
        true => Some(shares::page(db, &newest).await?),
        false => None,
    };
    view.show(&ViewsPage {
        layout: view.layout("Saved views", Section::Runs),
        more_views: saved.next.is_some(),
        more_shares: shares.as_ref().is_some_and(|page| page.next.is_some()),
        items: saved.items,
        shares: shares.map(|page| page.items),
    })
}
