//! Import of datasets of any size, line by line.

use actix_web::{
    HttpRequest, post,
    web::{self, BytesMut},
};
use futures::StreamExt as _;
use lyceum_core::{
    benchmark::{reader::LONGEST_LINE, suite},
    dataset::{RowCheck, RowFault},
    fault::Fault,
};
use lyceum_store::datasets::{Import, NewDataset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::{
    Api,
    answer::Answer,
    bounds,
    datasets::{DatasetDetail, DatasetPurpose},
    document::{check_length, check_type},
    query::Query,
};
use crate::api_error::ApiError;

/// Concurrent imports; each holds a database connection while its rows arrive.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// Bytes of rows written at a time.
const BATCH: usize = 8 << 20;
/// Faults after which the rest is not read.
const FAULTS: usize = 100;

/// The dataset the rows belong to.
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
    /// Its source.
    #[schemars(length(max = 2000))]
    source: Option<String>,
    /// The source's revision.
    #[schemars(length(max = 200))]
    revision: Option<String>,
}

crate::openapi::query!(ImportDatasetQuery);

/// Import a dataset of any size: one JSON object per line, all or none.
#[utoipa::path(
    tag = "datasets",
    params(ImportDatasetQuery),
    request_body(content = String, content_type = "application/x-ndjson", description = "One row per line"),
    responses((status = 201, description = "The dataset", body = DatasetDetail)),
    security(("token" = ["write"]))
)]
#[post("/datasets/import")]
pub(crate) async fn import_dataset(
    request: HttpRequest,
    api: web::Data<Api>,
    query: Query<ImportDatasetQuery>,
    mut payload: web::Payload,
) -> Result<Answer<DatasetDetail>, ApiError> {
    let asked = query.0;
    check_type(&request, "application/x-ndjson")?;
    let limit = api.settings.import_limit;
    check_length(&request, limit)?;
    let suite = asked.suite.as_deref().map(suite).transpose();
    let suite = suite.map_err(|unknown| ApiError::invalid_query(vec![("suite".to_owned(), unknown.to_string())]))?;
    let mut rows = Rows::new(RowCheck::new(asked.purpose.into(), suite));
    let _permit = AT_ONCE.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let mut tx = api.store.pool().begin().await?;
    let new = NewDataset {
        name: &asked.name,
        purpose: asked.purpose.into(),
        suite: suite.map(|suite| suite.name.as_str()),
        source: asked.source.as_deref().unwrap_or_default(),
        revision: asked.revision.as_deref(),
        rows: &[],
    };
    let mut import = Import::begin(&mut tx, &new).await?;
    let mut read = 0;
    let mut line = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| ApiError::malformed(format!("the body is incomplete: {error}")))?;
        read += chunk.len();
        if read > limit {
            return Err(ApiError::too_large(limit));
        }
        let mut rest = &chunk[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            line.extend_from_slice(&rest[..end]);
            rows.take(&line);
            line.clear();
            rest = &rest[end + 1..];
            if rows.bytes >= BATCH {
                import.add(&mut tx, &rows.full()?).await?;
            }
        }
        line.extend_from_slice(rest);
        if line.len() as u64 > LONGEST_LINE {
            return Err(rows.refuse(format!("it has more than {LONGEST_LINE} bytes")));
        }
    }
    rows.take(&line);
    import.add(&mut tx, &rows.full()?).await?;
    rows.end()?;
    let made = import.finish(&mut tx).await?;
    let made = DatasetDetail::of(&mut *tx, made).await?;
    tx.commit().await?;
    let location = made.location();
    Ok(Answer::created(made, &location))
}

/// Rows read but not yet written.
struct Rows {
    check: RowCheck,
    /// Lines read, including blank ones.
    line: usize,
    count: usize,
    rows: Vec<Value>,
    bytes: usize,
    faults: Vec<Fault>,
}

impl Rows {
    fn new(check: RowCheck) -> Self {
        Self {
            check,
            line: 0,
            count: 0,
            rows: Vec::new(),
            bytes: 0,
            faults: Vec::new(),
        }
    }

    /// Reads the next line.
    fn take(&mut self, text: &[u8]) {
        self.line += 1;
        if text.trim_ascii().is_empty() || self.faults.len() >= FAULTS {
            return;
        }
        match self.read(text) {
            Ok(row) => {
                self.count += 1;
                self.bytes += text.len();
                self.rows.push(row);
            }
            Err(detail) => self
                .faults
                .push(Fault::new(format!("/rows/{}", self.count), self.of_line(&detail))),
        }
    }

    fn read(&mut self, text: &[u8]) -> Result<Value, String> {
        let row: Map<String, Value> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let row = Value::Object(row);
        if holds_nul(&row) {
            return Err("the character U+0000 cannot be stored".to_owned());
        }
        self.check.check(self.line, &row).map_err(|fault| match fault {
            RowFault::Row(detail) => detail,
            RowFault::Repeated { task_id, first } => format!("`{task_id}` is already the task of line {first}"),
        })?;
        Ok(row)
    }

    /// The buffered rows.
    fn full(&mut self) -> Result<Vec<Value>, ApiError> {
        self.end_of_faults()?;
        self.bytes = 0;
        Ok(std::mem::take(&mut self.rows))
    }

    fn end(self) -> Result<(), ApiError> {
        match self.count {
            0 => Err(ApiError::invalid(vec![Fault::new(
                "/rows",
                "there are no rows; send one per line",
            )])),
            _ => Ok(()),
        }
    }

    fn end_of_faults(&self) -> Result<(), ApiError> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(ApiError::invalid(self.faults.clone())),
        }
    }

    fn of_line(&self, detail: &str) -> String {
        format!("line {}: {detail}", self.line)
    }

    fn refuse(&self, detail: String) -> ApiError {
        let detail = format!("line {}: {detail}", self.line + 1);
        ApiError::invalid(vec![Fault::new(format!("/rows/{}", self.count), detail)])
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| name.contains('\0') || holds_nul(field)),
        _ => false,
    }
}
