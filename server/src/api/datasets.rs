//! Datasets.

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use lyceum_core::{
    benchmark::{BenchmarkRow, suite},
    fault::Fault,
    id::DatasetId,
};
use lyceum_store::datasets::{self, Dataset, DatasetRow, NewDataset, Overlap, Purpose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use utoipa::{IntoParams, ToSchema};

use super::{
    Api, ApiSettings,
    answer::Answer,
    document::{Document, RequestBody},
    idempotent::{Begun, IdempotencyKey},
    page::{Listing, Order, Page},
    query::Query,
};
use crate::api_error::ApiError;

/// What a dataset is for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DatasetPurpose {
    /// What proposers start from.
    Seeds,
    /// Hard problems that lemmas are made for.
    Goalposts,
    /// What is learned from.
    Training,
    /// What is measured with.
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

/// A dataset to be imported.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDataset {
    /// What people call it; no two have the same name.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// What it is for.
    purpose: DatasetPurpose,
    /// The suite of benchmarks that it belongs to.
    #[schemars(length(max = 200))]
    #[schema(max_length = 200)]
    suite: Option<String>,
    /// Where it came from.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    #[schema(max_length = 2000)]
    source: String,
    /// Which revision of that.
    #[schemars(length(max = 200))]
    #[schema(max_length = 200)]
    revision: Option<String>,
    /// Its rows.
    #[schemars(length(min = 1))]
    #[schema(min_items = 1, value_type = Vec<Object>)]
    rows: Vec<Map<String, Value>>,
}

impl RequestBody for CreateDataset {
    fn limit(settings: &ApiSettings) -> usize {
        settings.dataset_limit
    }
}

/// A dataset and what it has in common with others.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DatasetDetail {
    /// The dataset.
    #[serde(flatten)]
    dataset: Dataset,
    /// Other datasets with rows that ask the same. One that is trained on and one that is measured with should have none.
    overlaps: Vec<Overlap>,
}

/// Which datasets.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListDatasetsQuery {
    /// For this purpose.
    #[param(inline)]
    purpose: Option<DatasetPurpose>,
    /// Rows of the page; 50 where it is left out.
    #[schemars(range(min = 1, max = 100))]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    #[param(inline)]
    order: Option<Order>,
}

/// Which rows.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListRowsQuery {
    /// Rows of the page; 50 where it is left out.
    #[schemars(range(min = 1, max = 100))]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
}

/// Import a dataset.
#[utoipa::path(
    tag = "datasets",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the answer of the request that had it")),
    request_body = CreateDataset,
    responses((status = 201, description = "The dataset", body = Dataset)),
    security(("token" = ["write"]))
)]
#[post("/datasets")]
pub(crate) async fn create_dataset(
    api: web::Data<Api>,
    key: IdempotencyKey,
    sent: Document<CreateDataset>,
) -> Result<Answer<Value>, ApiError> {
    check(&sent.value)?;
    let mut creation = match key.begin(api.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let request = sent.value;
    let rows: Vec<Value> = request.rows.into_iter().map(Value::Object).collect();
    let new = NewDataset {
        name: &request.name,
        purpose: request.purpose.into(),
        suite: request.suite.as_deref(),
        source: &request.source,
        revision: request.revision.as_deref(),
        rows: &rows,
    };
    let made = datasets::create(&mut creation.tx, &new).await?;
    creation.finish(&made, &format!("/api/v1/datasets/{}", made.id)).await
}

/// Rows that are measured with must have the form that they are asked and graded by: that of `lyceum benchmark import`.
fn check(request: &CreateDataset) -> Result<(), ApiError> {
    let (DatasetPurpose::Benchmark, Some(name)) = (request.purpose, &request.suite) else {
        return Ok(());
    };
    let mut faults = Vec::new();
    if let Err(unknown) = suite(name) {
        faults.push(Fault::new("/suite", unknown.to_string()));
    }
    let mut first = HashMap::new();
    for (at, row) in request.rows.iter().enumerate() {
        match BenchmarkRow::deserialize(Value::Object(row.clone())) {
            Ok(row) => {
                if let Some(first) = first.insert(row.task_id.clone(), at) {
                    let detail = format!("`{}` is the task of row {first} already", row.task_id);
                    faults.push(Fault::new(format!("/rows/{at}/task_id"), detail));
                }
            }
            Err(error) => faults.push(Fault::new(format!("/rows/{at}"), error.to_string())),
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(faults))
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
    api: web::Data<Api>,
    query: Query<ListDatasetsQuery>,
) -> Result<Answer<Page<Dataset>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("datasets", query.limit, query.cursor.as_deref(), query.order)?;
    let page = datasets::page(api.store.pool(), query.purpose.map(Purpose::from), listing.window()).await?;
    Ok(listing.answer(&request, page))
}

/// Show a dataset and what it has in common with others.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, description = "The dataset", body = DatasetDetail)),
    security(("token" = ["read"]))
)]
#[get("/datasets/{id}")]
pub(crate) async fn show_dataset(
    api: web::Data<Api>,
    id: web::Path<DatasetId>,
) -> Result<Answer<DatasetDetail>, ApiError> {
    let db = api.store.pool();
    Ok(Answer::ok(DatasetDetail {
        dataset: datasets::find(db, *id).await?,
        overlaps: datasets::overlaps(db, *id).await?,
    }))
}

/// List the rows of a dataset, in their order.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset"), ListRowsQuery),
    responses((status = 200, description = "A page of rows", body = Page<DatasetRow>)),
    security(("token" = ["read"]))
)]
#[get("/datasets/{id}/rows")]
pub(crate) async fn list_dataset_rows(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<DatasetId>,
    query: Query<ListRowsQuery>,
) -> Result<Answer<Page<DatasetRow>>, ApiError> {
    let listing = Listing::new("rows", query.0.limit, query.0.cursor.as_deref(), Some(Order::Oldest))?;
    datasets::find(api.store.pool(), *id).await?;
    Ok(listing.answer(&request, datasets::rows(api.store.pool(), *id, listing.window()).await?))
}

/// Delete a dataset.
#[utoipa::path(
    tag = "datasets",
    params(("id" = Uuid, Path, description = "The dataset")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/datasets/{id}")]
pub(crate) async fn delete_dataset(api: web::Data<Api>, id: web::Path<DatasetId>) -> Result<HttpResponse, ApiError> {
    datasets::remove(api.store.pool(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
