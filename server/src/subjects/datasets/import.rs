//! Imports datasets of any size, from a file that is sent or from the Hugging Face hub.

mod fetching;
mod reading;

use actix_web::{HttpRequest, web};
use lyceum_core::dataset::{ImportReport, OracleKind};
use lyceum_store::datasets::{Import, NewDataset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use utoipa::ToSchema;

use self::fetching::fetch;
use self::reading::{Batch, Plan, Reading, Source};
use crate::api_error::ApiError;
use crate::contract::caller::Caller;
use crate::contract::document::{check_length, check_type};
use crate::contract::receive::{Pieces, Place};
use crate::contract::{About, Answer, Endpoint, Query, bounds};
use crate::lab::Lab;
use crate::subjects::datasets::rewards::check_stored;
use crate::subjects::datasets::{DatasetDetail, DatasetPurpose};

/// Concurrent imports; each holds a database connection while its rows are written.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// Rows of a dry run's answer.
const SHOWN: usize = 5;

/// The dataset the rows belong to, and how they are read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportDatasetQuery {
    /// The dataset's name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its purpose.
    purpose: DatasetPurpose,
    /// The benchmark suite it belongs to.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Its source; by default the place on the hub.
    #[schemars(length(max = 2000))]
    source: Option<String>,
    /// The source's revision; by default the hub's commit.
    #[schemars(length(max = 200))]
    revision: Option<String>,
    /// How rows are read: `lyceum` (the default), `suite` for the own file of `suite`, or a format such as `gsm8k`
    /// (docs/DATASETS.md lists them).
    #[schemars(length(max = 200))]
    format: Option<String>,
    /// What judges the answers, for rows that are read by `map`.
    oracle: Option<OracleKind>,
    /// The column of each field as a JSON object, such as `{"question": "problem", "gold": "answer"}`.
    #[schemars(length(max = 20_000))]
    map: Option<String>,
    /// Reads `OWNER/NAME[@REVISION][/PATH]` on the Hugging Face hub instead of a body.
    #[schemars(length(max = 1000))]
    hub: Option<String>,
    /// The split of a repository or folder on the hub, such as `train`.
    #[schemars(length(max = 200))]
    split: Option<String>,
    /// Leaves out rows whose question has fewer bytes.
    min_question_bytes: Option<u32>,
    /// Leaves out rows whose question has more bytes.
    max_question_bytes: Option<u32>,
    /// Whether to keep rows that ask what an earlier row asks; by default only for benchmarks.
    keep_duplicates: Option<bool>,
    /// Skips unreadable rows, up to this percentage; by default the import is refused.
    #[schemars(range(min = 0, max = 100))]
    skip_bad: Option<u32>,
    /// Whether to only read and check, and answer with the report and the first rows.
    dry_run: Option<bool>,
}

/// What an import would keep.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImportPreview {
    /// Rows read and kept, and how many each filter left out.
    #[schema(value_type = Object)]
    report: ImportReport,
    /// The revision of the source.
    revision: Option<String>,
    /// The first rows as they would be stored.
    #[schema(value_type = Vec<Object>)]
    rows: Vec<Value>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let import = About::new("import_dataset", "/datasets/import")
        .says("Import a dataset of any size, all or none.", "What the import would keep (`dry_run`)");
    let import = Endpoint::post(import, "datasets", import_dataset).query::<ImportDatasetQuery>();
    let import = import.takes_file(Some("The file of rows"), &TYPES).answers::<ImportPreview>();
    let more = "The body is one JSON object per line, a JSON array of objects or a Parquet file, the first two also \
        as gzip; the first bytes tell which. With `hub` there is no body. What is imported is received whole before \
        any of it is read.";
    let import = import.or_answers::<DatasetDetail>("201", "The dataset").describe(more);
    vec![import]
}

async fn import_dataset(
    request: HttpRequest,
    caller: Caller,
    lab: web::Data<Lab>,
    query: Query<ImportDatasetQuery>,
    payload: web::Payload,
) -> Result<Answer<Value>, ApiError> {
    let asked = query.0;
    let limit = lab.settings.import_limit;
    check_length(&request, limit)?;
    let plan = Plan::of(&asked)?;
    if plan.hub.is_none() {
        check_type(&request, &TYPES)?;
    }
    let _place = Place::wait(&lab, &caller).await?;
    let source = match &plan.hub {
        Some(address) => Source::Hub(fetch(address, plan.split.as_deref(), &lab.settings, limit).await?),
        None => {
            let pieces = Pieces::of(&request, payload.into_inner(), limit, lab.settings.body_pace)?;
            Source::File(pieces.into_file(|_| ()).await?)
        }
    };
    let _permit = AT_ONCE.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let (batches, mut rows) = mpsc::channel(1);
    let suite = plan.suite.map(|suite| suite.name.clone());
    let place = plan.hub.as_ref().map(ToString::to_string);
    let reading = Reading::begin(source, plan, limit, batches);

    if asked.dry_run == Some(true) {
        let rows = first_rows(&mut rows).await;
        let read = reading.end().await?;
        let preview = ImportPreview { report: read.report, revision: asked.revision.or(read.revision), rows };
        let preview = serde_json::to_value(preview).map_err(|error| ApiError::internal(&error))?;
        return Ok(Answer::ok(preview));
    }

    let mut tx = lab.store.pool().begin().await?;
    let new = NewDataset {
        name: &asked.name,
        purpose: asked.purpose.into(),
        suite: suite.as_deref(),
        source: asked.source.as_deref().or(place.as_deref()).unwrap_or_default(),
        revision: asked.revision.as_deref(),
        rows: &[],
    };
    let mut import = Import::begin(&mut tx, &new).await?;
    while let Some(batch) = rows.recv().await {
        import.add(&mut tx, &batch).await?;
    }
    let read = reading.end().await?;
    let made = import.finish(&mut tx, read.revision.as_deref(), Some(&read.report)).await?;
    check_stored(&mut tx, &made).await?;
    let made = DatasetDetail::of(&mut tx, made).await?;
    tx.commit().await?;
    let location = made.location();
    let made = serde_json::to_value(made).map_err(|error| ApiError::internal(&error))?;
    Ok(Answer::created(made, &location))
}

async fn first_rows(batches: &mut mpsc::Receiver<Batch>) -> Vec<Value> {
    let mut first = Vec::new();
    while let Some(batch) = batches.recv().await {
        first.extend(batch.into_iter().map(|(_, row)| row).take(SHOWN - first.len()));
    }
    first
}

/// The media types of files of rows. Which of them it is, the first bytes tell.
const TYPES: [&str; 4] =
    ["application/x-ndjson", "application/gzip", "application/vnd.apache.parquet", "application/octet-stream"];
