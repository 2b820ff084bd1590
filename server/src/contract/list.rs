//! Endpoints that list: pages of rows that fit a filter, by age or in an order of the filter's own.

use actix_web::http::header::LINK;
use actix_web::{HttpRequest, HttpResponse, Responder as _, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::page::{self, Window};
use lyceum_store::{Store, runs};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use std::borrow::Cow;
use utoipa::ToSchema;

use super::answer::csv_of;
use super::bounds;
use super::endpoint::{About, Endpoint, Format};
use super::page::{Listing, Order};
use super::query::Query;
use crate::api_error::ApiError;

/// What the rows of a list can be selected by. The docs of its fields are those of the parameters.
pub(crate) trait Filter: DeserializeOwned + JsonSchema + 'static {
    /// Whether it has an order of its own. Such lists have no parameter `order`.
    const IS_SORTED: bool = false;
    /// The fields of a row that are columns of CSV; if there are none, the list is JSON only.
    const COLUMNS: &'static [&'static str] = &[];

    /// The order unless another is requested.
    const FIRST: Order = Order::Newest;

    /// Fails if these selections exclude each other, or exclude a requested `order`.
    fn check(&self, _order: Option<Order>) -> Result<(), ApiError> {
        Ok(())
    }

    /// The order in cursors, unless it is the usual one.
    fn sort(&self) -> Option<&'static str> {
        None
    }

    /// What cursors of the list `name` call it in this order.
    fn list(&self, name: &str) -> String {
        match self.sort() {
            Some(sort) => format!("{name}.{sort}"),
            None => name.to_owned(),
        }
    }
}

/// All rows.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct All {}

impl Filter for All {}

/// Which part of a list, in which order and format.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// `json` (the default) or `csv`.
    format: Option<Format>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

/// The parameters of a list, of the API or of a page.
#[derive(Debug)]
pub(crate) struct Asked<F> {
    pub(crate) filter: F,
    part: Part,
}

impl<F: Filter> JsonSchema for Asked<F> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Asked", F::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{} asked", F::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Part::json_schema(generator);
        let mut filter = F::json_schema(generator);
        let fields =
            |schema: &mut Schema| schema.get_mut("properties").and_then(Value::as_object_mut).map(std::mem::take);
        let mut all = fields(&mut filter).unwrap_or_default();
        let part = fields(&mut schema).unwrap_or_default().into_iter();
        all.extend(part.filter(|(name, _)| match name.as_str() {
            "order" => !F::IS_SORTED,
            "format" => !F::COLUMNS.is_empty(),
            _ => true,
        }));
        if F::FIRST == Order::Oldest
            && let Some(order) = all.get_mut("order")
        {
            order["description"] = "`newest` or `oldest` (the default) first.".into();
        }
        schema.insert("properties".to_owned(), Value::Object(all));
        schema
    }
}

impl<'de, F: Filter> Deserialize<'de> for Asked<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Map::<String, Value>::deserialize(deserializer)?;
        let is_of_part = |name: &str| matches!(name, "format" | "limit" | "cursor" | "order");
        let (part, filter): (Map<_, _>, Map<_, _>) = all.into_iter().partition(|(name, _)| is_of_part(name));
        Ok(Self {
            filter: F::deserialize(Value::Object(filter)).map_err(D::Error::custom)?,
            part: Part::deserialize(Value::Object(part)).map_err(D::Error::custom)?,
        })
    }
}

impl<F: Filter> Asked<F> {
    /// The part of the list `name` that is asked for.
    pub(crate) fn listing(&self, name: &str) -> Result<Listing, ApiError> {
        self.filter.check(self.part.order)?;
        let order = Some(self.order());
        Listing::new(&self.filter.list(name), self.part.limit, self.part.cursor.as_deref(), order)
    }

    pub(crate) fn order(&self) -> Order {
        self.part.order.unwrap_or(F::FIRST)
    }

    /// The response with the part that is asked for.
    async fn answer<T: Serialize>(
        &self,
        about: About,
        request: &HttpRequest,
        read: impl AsyncFn(&F, &Window) -> lyceum_store::Result<page::Page<T>>,
    ) -> Result<HttpResponse, ApiError> {
        let listing = self.listing(about.name.trim_start_matches("list_"))?;
        let page = read(&self.filter, listing.window()).await?;
        if self.part.format.unwrap_or_default() == Format::Json {
            return Ok(listing.answer(request, page).respond_to(request));
        }
        let page = listing.page(page);
        let mut response = csv_of(F::COLUMNS, &page.items)?;
        if let Some(link) = page.link(request).and_then(|link| link.parse().ok()) {
            response.headers_mut().insert(LINK, link);
        }
        Ok(response)
    }
}

/// Lists rows.
pub(crate) fn list<F, T, R>(about: About, tag: &str, read: R) -> Endpoint
where
    F: Filter,
    T: Serialize + ToSchema + 'static,
    R: AsyncFn(&PgPool, &F, &Window) -> lyceum_store::Result<page::Page<T>> + Clone + 'static,
{
    let handler = move |request: HttpRequest, store: web::Data<Store>, query: Query<Asked<F>>| {
        let read = read.clone();
        async move {
            let part = async |filter: &F, window: &Window| read(store.pool(), filter, window).await;
            query.0.answer(about, &request, part).await
        }
    };
    described::<F, T>(Endpoint::get(about, tag, handler))
}

/// Lists rows of what `find` finds at the address.
pub(crate) fn list_within<A, P, F, T, W, R>(about: About, tag: &str, find: W, read: R) -> Endpoint
where
    A: DeserializeOwned + Copy + 'static,
    F: Filter,
    T: Serialize + ToSchema + 'static,
    W: AsyncFn(&PgPool, A) -> lyceum_store::Result<P> + Clone + 'static,
    R: AsyncFn(&PgPool, A, &F, &Window) -> lyceum_store::Result<page::Page<T>> + Clone + 'static,
{
    let handler =
        move |request: HttpRequest, store: web::Data<Store>, address: web::Path<A>, query: Query<Asked<F>>| {
            let (find, read) = (find.clone(), read.clone());
            async move {
                find(store.pool(), *address).await?;
                let part = async |filter: &F, window: &Window| read(store.pool(), *address, filter, window).await;
                query.0.answer(about, &request, part).await
            }
        };
    described::<F, T>(Endpoint::get(about, tag, handler))
}

/// Lists rows of a run, whose id is in the address.
pub(crate) fn list_of_run<F, T, R>(about: About, read: R) -> Endpoint
where
    F: Filter,
    T: Serialize + ToSchema + 'static,
    R: AsyncFn(&PgPool, ExecutionId, &F, &Window) -> lyceum_store::Result<page::Page<T>> + Clone + 'static,
{
    let find = async |db: &PgPool, run: ExecutionId| runs::find(db, run).await;
    list_within(about, "runs", find, read).id("id", "The run")
}

fn described<F: Filter, T: ToSchema>(endpoint: Endpoint) -> Endpoint {
    let endpoint = endpoint.query::<Asked<F>>().lists::<T>();
    match F::COLUMNS {
        [] => endpoint,
        _ => endpoint.or_csv(),
    }
}
