//! Datasets.

pub(crate) mod import;
pub(super) mod pages;
pub(crate) mod rewards;
pub(crate) mod shipped;
pub(crate) mod usable;

use actix_web::web;
use lyceum_core::benchmark::{Suite, suite};
use lyceum_core::dataset::{Purpose, RowCheck, RowFault};
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use lyceum_store::StoreError;
use lyceum_store::datasets::{self, Dataset, DatasetCheck, NewDataset, Overlap};
use lyceum_store::page::Window;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody, apart};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Filter, Order, bounds, delete, list, list_within, show};
use crate::lab::{Lab, LabSettings};

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
        Ok(Self { overlaps: datasets::overlaps(&mut *db, id).await?, check: datasets::check(db, id).await?, dataset })
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

/// Selects datasets.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DatasetFilter {
    /// With this purpose.
    purpose: Option<DatasetPurpose>,
}

/// All rows, in order.
#[derive(Debug, Deserialize, JsonSchema)]
struct InOrder {}

impl Filter for DatasetFilter {}

impl Filter for InOrder {
    const IS_SORTED: bool = true;
    const FIRST: Order = Order::Oldest;

    /// As earlier releases called these lists.
    fn list(&self, name: &str) -> String {
        name.trim_start_matches("dataset_").replace('_', " ")
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_dataset", "/datasets").says("Import a dataset.", "The dataset");
    let new = Endpoint::post(new, "datasets", create_dataset).idempotent();
    let new = new.takes::<CreateDataset>().creates::<DatasetDetail>();
    let all = About::new("list_datasets", "/datasets").says("List datasets.", "A page of datasets");
    let all = list(all, "datasets", async |db: &PgPool, filter: &DatasetFilter, window: &Window| {
        datasets::page(db, filter.purpose.map(Purpose::from), window).await
    });
    let one =
        About::new("show_dataset", "/datasets/{id}").says("Show a dataset and its overlap with others.", "The dataset");
    let one = show(one, "datasets", DatasetDetail::find).id("id", "The dataset");
    let find = async |db: &PgPool, id: DatasetId| datasets::find(db, id).await;
    let rows = async |db: &PgPool, id: DatasetId, _: &InOrder, window: &Window| datasets::rows(db, id, window).await;
    let rows_of_one = About::new("list_dataset_rows", "/datasets/{id}/rows")
        .says("List the rows of a dataset in order.", "A page of rows");
    let rows_of_one = list_within(rows_of_one, "datasets", find, rows).id("id", "The dataset").or_worker();
    let bad = async |db: &PgPool, id: DatasetId, _: &InOrder, window: &Window| datasets::bad_rows(db, id, window).await;
    let bad_rows = About::new("list_bad_rows", "/datasets/{id}/bad-rows").says(
        "List the rows of a dataset whose tests cannot be used, as far as its check has found them.",
        "A page of bad rows, in order",
    );
    let bad_rows = list_within(bad_rows, "datasets", find, bad).id("id", "The dataset");
    let removal = About::new("delete_dataset", "/datasets/{id}").says("Delete a dataset.", "It is gone");
    let removal = delete(removal, "datasets", DatasetDetail::find, datasets::remove).id("id", "The dataset").if_match();
    vec![new, all, one, rows_of_one, bad_rows, removal]
}

async fn create_dataset(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateDataset>,
) -> Result<Answer<Value>, ApiError> {
    let CreateDataset { name, purpose, suite, source, revision, rows } = sent.value;
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
    rewards::check_stored(&mut creation.tx, &made).await?;
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
    if faults.is_empty() { Ok(suite) } else { Err(ApiError::invalid(faults)) }
}
