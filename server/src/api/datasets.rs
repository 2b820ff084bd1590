//! Datasets.

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use lyceum_core::{
    benchmark::{Suite, suite},
    dataset::{Purpose, RowCheck, RowFault},
    fault::Fault,
    id::DatasetId,
};
use lyceum_store::{
    StoreError,
    datasets::{self, BadRow, Dataset, DatasetCheck, DatasetRow, NewDataset, Overlap},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, bounds, check_if_match,
        document::{Document, RequestBody, apart},
        idempotent::{Begun, IdempotencyKey},
    },
    lab::{Lab, LabSettings},
};

/// The purpose of a dataset.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DatasetPurpose {
    /// Initial problems for proposers.
    Seeds,
    /// Hard problems for which lemmas are proposed.
    Goalposts,
    /// Problems for training.
    Training,
    /// Problems for evaluation.
    Benchmark,
}

impl From<DatasetPurpose> for Purpose {
    fn from(purpose: DatasetPurpose) -> Self {
        match purpose {
            DatasetPurpose::Seeds => Self::Seeds,
            DatasetPurpose::Goalposts => Self::Goalposts,
            DatasetPurpose::Training => Self::Training,
            DatasetPurpose::Benchmark => Self::Benchmark,
        }
    }
}

/// A dataset to import.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDataset {
    /// Its name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its purpose.
    purpose: DatasetPurpose,
    /// The benchmark suite it belongs to.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Its source.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    source: String,
    /// The source's revision.
    #[schemars(length(max = 200))]
    revision: Option<String>,
    /// Its rows: for `seeds` with `snippet` and `input`, or `inputs` and `message`; for the others with `task_id`,
    /// `question` and `oracle`, or problems of self-play with `type`, `program` and the fields of that type.
    #[schemars(length(min = 1))]
    #[schema(value_type = Vec<Object>)]
    rows: Vec<Map<String, Value>>,
}

impl RequestBody for CreateDataset {
    fn limit(settings: &LabSettings) -> usize {
        settings.dataset_limit
    }
}

/// A dataset and its overlap with others.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DatasetDetail {
    /// The dataset.
    #[serde(flatten)]
    dataset: Dataset,
    /// Other datasets with the same questions or programs. Training data and benchmarks should not overlap.
    overlaps: Vec<Overlap>,
    /// The check of its rows' tests; none if no row has tests that could be bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<DatasetCheck>,
}

impl DatasetDetail {
    pub(crate) async fn of(db: &mut PgConnection, dataset: Dataset) -> Result<Self, StoreError> {
        let id = DatasetId(dataset.id);
        Ok(Self {
            overlaps: datasets::overlaps(&mut *db, id).await?,
            check: datasets::check(db, id).await?,
            dataset,
        })
    }

    async fn find(db: &PgPool, id: DatasetId) -> Result<Self, StoreError> {
        let mut db = db.acquire().await?;
        let dataset = datasets::find(&mut *db, id).await?;
        Self::of(&mut db, dataset).await
    }

    /// The address of the dataset.
    pub(crate) fn location(&self) -> String {
        format!("/api/v1/datasets/{}", self.dataset.id)
    }
}

/// Filters of datasets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDatasetsQuery {
    /// With this purpose.
    purpose: Option<DatasetPurpose>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListDatasetsQuery);

/// Filters of rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRowsQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

crate::contract::query!(ListRowsQuery);

/// Import a dataset.
#[utoipa::path(
    tag = "datasets",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateDataset,
    responses((status = 201, description = "The dataset", body = DatasetDetail)),
    security(("token" = ["write"]))
)]
#[post("/datasets")]
pub(crate) async fn create_dataset(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateDataset>,
) -> Result<Answer<Value>, ApiError> {
    let CreateDataset {
        name,
        purpose,
        suite,
        source,
        revision,
        rows,
    } = sent.value;
    let rows: Vec<Value> = rows.into_iter().map(Value::Object).collect();
    let checked = apart(move || check(purpose.into(), suite.as_deref(), &rows).map(|suite| (suite, rows)));
    let (suite, rows) = checked.await??;
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = NewDataset {
        name: &name,
        purpose: purpose.into(),
        suite: suite.map(|suite| suite.name.as_str()),
        source: &source,
        revision: revision.as_deref(),
        rows: &rows,
    };
    let made = datasets::create(&mut creation.tx, &new).await?;
    let made = DatasetDetail::of(&mut creation.tx, made).await?;
    creation.finish(&made, &made.location()).await
}

/// Faults after which the rest is not checked.
const FAULTS: usize = 100;

/// The suite of that name, after checking that every row fits the purpose and the suite.
fn check(purpose: Purpose, suite_name: Option<&str>, rows: &[Value]) -> Result<Option<&'static Suite>, ApiError> {
    let mut faults = Vec::new();
    let suite = suite_name.map(suite).transpose();
    let suite = suite.unwrap_or_else(|unknown| {
        faults.push(Fault::new("/suite", unknown.to_string()));
        None
    });
    let mut check = RowCheck::new(purpose, suite);
    for (at, row) in rows.iter().enumerate() {
        match check.check(at, row) {
            Ok(()) => {}
            Err(RowFault::Row(detail)) => faults.push(Fault::new(format!("/rows/{at}"), detail)),
            Err(RowFault::Repeated { task_id, first }) => {
                let detail = format!("`{task_id}` is already the task of row {first}");
                faults.push(Fault::new(format!("/rows/{at}/task_id"), detail));
            }
        }
        if faults.len() >= FAULTS {
            break;
        }
    }
    match faults.is_empty() {
        true => Ok(suite),
        false => Err(ApiError::invalid(faults)),
    }
}

/// List datasets.
#[utoipa::path(
    tag = "datasets",
    params(ListDatasetsQuery),
    responses((status = 200, description = "A page of datasets", body = Page<Dataset>)),
    security(("token" = ["read"]))
)]
#[get("/datasets")]
pub(crate) async fn list_datasets(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListDatasetsQuery>,
) -> Result<Answer<Page<Dataset>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("datasets", query.limit, query.cursor.as_deref(), query.order)?;
    let page = datasets::page(lab.store.pool(), query.purpose.map(Purpose::from), listing.window()).await?;
    Ok(listing.answer(&request, page))
}

/// Show a dataset and its overlap with others.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, description = "The dataset", body = DatasetDetail)),
    security(("token" = ["read"]))
)]
#[get("/datasets/{id}")]
pub(crate) async fn show_dataset(
    lab: web::Data<Lab>,
    id: web::Path<DatasetId>,
) -> Result<Answer<DatasetDetail>, ApiError> {
    Ok(Answer::ok(DatasetDetail::find(lab.store.pool(), *id).await?))
}

/// List the rows of a dataset in order.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset"), ListRowsQuery),
    responses((status = 200, description = "A page of rows", body = Page<DatasetRow>)),
    security(("token" = ["read"]), ("token" = ["worker"]))
)]
#[get("/datasets/{id}/rows")]
pub(crate) async fn list_dataset_rows(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<DatasetId>,
    query: Query<ListRowsQuery>,
) -> Result<Answer<Page<DatasetRow>>, ApiError> {
    let listing = Listing::new("rows", query.0.limit, query.0.cursor.as_deref(), Some(Order::Oldest))?;
    datasets::find(lab.store.pool(), *id).await?;
    Ok(listing.answer(&request, datasets::rows(lab.store.pool(), *id, listing.window()).await?))
}

/// List the rows of a dataset whose tests cannot be used, as far as its check has found them.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset"), ListRowsQuery),
    responses((status = 200, description = "A page of bad rows, in order", body = Page<BadRow>)),
    security(("token" = ["read"]))
)]
#[get("/datasets/{id}/bad-rows")]
pub(crate) async fn list_bad_rows(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<DatasetId>,
    query: Query<ListRowsQuery>,
) -> Result<Answer<Page<BadRow>>, ApiError> {
    let listing = Listing::new(
        "bad rows",
        query.0.limit,
        query.0.cursor.as_deref(),
        Some(Order::Oldest),
    )?;
    datasets::find(lab.store.pool(), *id).await?;
    Ok(listing.answer(
        &request,
        datasets::bad_rows(lab.store.pool(), *id, listing.window()).await?,
    ))
}

/// Delete a dataset.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/datasets/{id}")]
pub(crate) async fn delete_dataset(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<DatasetId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &DatasetDetail::find(db, *id).await?)?;
    datasets::remove(db, *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
