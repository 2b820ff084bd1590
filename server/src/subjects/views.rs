//! Saved views, and links that share a page: `/views`.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, get, web};
use askama::Template;
use chrono::{TimeDelta, Utc};
use lyceum_core::fault::Fault;
use lyceum_store::page::{Order, Window};
use lyceum_store::shares::{self, Share};
use lyceum_store::views;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::access::new_secret;
use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, All, Answer, Caller, Endpoint, bounds, delete, list, show};
use crate::frame::address::PageAddress;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::View;
use crate::lab::Lab;

/// A view to save.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateView {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Path and query of a page, such as `/runs?state=running`.
    #[schemars(length(min = 1, max = 2000))]
    address: String,
}

impl RequestBody for CreateView {}

/// The page at `address`, whose runs are there.
pub(crate) async fn page_at(lab: &Lab, address: &str) -> Result<PageAddress, ApiError> {
    let fault = |detail: String| ApiError::invalid(vec![Fault::new("/address", detail)]);
    let page = PageAddress::parse(address).map_err(fault)?;
    match page.missing_run(lab.store.pool()).await? {
        Some(run) => Err(fault(format!("it shows the run {run}, which does not exist or was deleted"))),
        None => Ok(page),
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let new_view =
        About::new("create_view", "/views").says("Save a view: a page with all that its address says.", "The view");
    let new_view = Endpoint::post(new_view, "views", create_view).idempotent().takes::<CreateView>();
    let new_view = new_view.creates::<views::View>();
    let all_views = About::new("list_views", "/views").says("List saved views.", "A page of views");
    let all_views =
        list(all_views, "views", async |db: &PgPool, _: &All, window: &Window| views::page(db, window).await);
    let one_view = About::new("show_view", "/views/{id}").says("Show a saved view.", "The view");
    let one_view = show(one_view, "views", views::find).id("id", "The view");
    let removal = About::new("delete_view", "/views/{id}").says("Delete a saved view; the page stays.", "It is gone");
    let removal = delete(removal, "views", views::find, views::remove).id("id", "The view").if_match();
    let new_share = About::new("create_share", "/shares").says(
        "Create a link that shows a page, read-only, to whoever has it. The response is not stored, so this \
                  has no `Idempotency-Key`.",
        "The link",
    );
    let new_share = Endpoint::post(new_share, "views", create_share).takes::<CreateShare>().creates::<CreatedShare>();
    let all_shares = About::new("list_shares", "/shares")
        .says("List share links that have not expired, without their secrets.", "A page of links");
    let all_shares =
        list(all_shares, "views", async |db: &PgPool, _: &All, window: &Window| shares::page(db, window).await)
            .scope("write");
    let revoke = About::new("revoke_share", "/shares/{id}").says("Revoke a share link.", "It shows nothing any more");
    let revoke = Endpoint::delete(revoke, "views", revoke_share).id("id", "The link's id, not its secret");
    let revoke = revoke.answers_nothing();
    vec![new_view, all_views, one_view, removal, new_share, all_shares, revoke]
}

async fn create_view(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateView>,
) -> Result<Answer<Value>, ApiError> {
    if let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let page = page_at(&lab, &sent.value.address).await?;
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let made = views::create(&mut creation.tx, &sent.value.name, &page.address()).await?;
    creation.finish(&made, &format!("/api/v1/views/{}", made.id)).await
}

/// A share link to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateShare {
    /// Path and query of the page that it shows, such as `/runs?state=running`. `/runs/ID` shows all pages of the run and gives its
    /// files, exports and adapters included.
    #[schemars(length(min = 1, max = 2000))]
    address: String,
    /// Days until it expires; 7 by default.
    #[schemars(range(min = 1, max = 365))]
    days: Option<u16>,
}

/// A new share link, whose path is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedShare {
    /// Its stored data.
    #[serde(flatten)]
    kept: Share,
    /// The path of the link, with its secret.
    #[schema(example = "/shared/…")]
    path: String,
}

impl RequestBody for CreateShare {}

async fn create_share(
    lab: web::Data<Lab>,
    caller: Caller,
    sent: Document<CreateShare>,
) -> Result<Answer<CreatedShare>, ApiError> {
    let page = page_at(&lab, &sent.value.address).await?;
    if page.is_form() {
        let detail = "a form cannot be shared, since it can be filled from any run: share the page of what it made";
        return Err(ApiError::invalid(vec![Fault::new("/address", detail.to_owned())]));
    }
    let secret = new_secret("");
    let until = Utc::now() + TimeDelta::days(i64::from(sent.value.days.unwrap_or(7)));
    let kept = shares::create(lab.store.pool(), &secret, &page.address(), caller.token.id, until).await?;
    tracing::info!(share.id = %kept.id, "created a share link");
    let location = format!("/api/v1/shares/{}", kept.id);
    let path = format!("/shared/{secret}");
    Ok(Answer::created(CreatedShare { kept, path }, &location))
}

async fn revoke_share(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    shares::revoke(lab.store.pool(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Views and links that are shown.
const SHOWN: u32 = 200;

#[derive(Template, Serialize)]
#[template(path = "saved_views.html")]
struct ViewsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<views::View>,
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
    let newest = Window { limit: SHOWN, after: None, order: Order::Newest };
    let saved = views::page(db, &newest).await?;
    let shares = if view.may_write() { Some(shares::page(db, &newest).await?) } else { None };
    view.show(&ViewsPage {
        layout: view.layout("Saved views", Section::Views),
        more_views: saved.next.is_some(),
        more_shares: shares.as_ref().is_some_and(|page| page.next.is_some()),
        items: saved.items,
        shares: shares.map(|page| page.items),
    })
}

#[get("/views/{id}")]
pub(crate) async fn open_view(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let saved = views::find(db, *id).await?;
    let page = PageAddress::parse(&saved.address).map_err(ApiError::not_found)?;
    match page.missing_run(db).await? {
        Some(run) => Err(ApiError::not_found(format!(
            "the saved view `{}` shows the run {run}, which was deleted; delete the view at /views, or save it anew",
            saved.name
        ))),
        None => Ok(HttpResponse::SeeOther().insert_header((LOCATION, page.address())).finish()),
    }
}
