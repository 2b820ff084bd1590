//! Datasets: imported, hashed rows.

mod check;
mod derived;
mod import;

pub use check::{BadRow, CheckState, DatasetCheck, bad_rows, check, plan_check};
pub(crate) use check::{begin_check, write_check};
pub use derived::{sample, without_bad_rows};
pub use import::{Import, create, create_as};

use chrono::{DateTime, Utc};
use lyceum_core::benchmark::reader::self_play;
use lyceum_core::dataset::{ImportReport, Purpose};
use lyceum_core::id::DatasetId;
use lyceum_core::recipe::RowTags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Key, Keyed, Page, Window, by_seq};
use crate::{Remote, Result, StoreError};

/// A dataset.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Dataset {
    /// The dataset.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name, unique.
    pub name: String,
    /// `seeds`, `goalposts`, `training` or `benchmark`.
    #[schema(value_type = String)]
    pub purpose: Purpose,
    /// Its benchmark suite.
    pub suite: Option<String>,
    /// SHA-256 of its rows, each as compact JSON and a newline.
    pub sha256: String,
    /// Its source.
    pub source: String,
    /// The revision of the source.
    pub revision: Option<String>,
    /// Number of rows.
    pub rows: i32,
    /// What its import read and left out; none for a dataset that was sent as one document.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub report: Option<Json<ImportReport>>,
    /// For goalposts that were filtered by an evaluation: which one, who attempted them how often, and how many were left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub provenance: Option<Json<Value>>,
    /// When it was imported.
    pub created_at: DateTime<Utc>,
}

/// A new dataset, without its rows' checksum.
#[derive(Clone, Debug)]
pub struct NewDataset<'a> {
    pub name: &'a str,
    pub purpose: Purpose,
    /// Its benchmark suite.
    pub suite: Option<&'a str>,
    pub source: &'a str,
    /// The revision of the source.
    pub revision: Option<&'a str>,
    pub rows: &'a [Value],
}

/// A row.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct DatasetRow {
    /// Its index, from 0.
    pub index: i32,
    /// The row.
    #[schema(value_type = Object)]
    pub row: Value,
}

/// Rows that two datasets have in common.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Overlap {
    /// The other dataset.
    pub dataset_id: Uuid,
    /// Its name.
    pub name: String,
    /// Its purpose: a measurement on rows that were also trained on is worthless.
    #[schema(value_type = String)]
    pub purpose: Purpose,
    /// Rows of this dataset with the question or program of a row of the other.
    pub rows: i64,
}

const COLUMNS: &str = "id, seq, name, purpose, suite, sha256, source, revision, rows, report, provenance,
    created_at";

/// Notes where the rows of a dataset come from.
pub async fn set_provenance(tx: &mut PgConnection, id: DatasetId, provenance: &Value) -> Result<Dataset> {
    let mut query = QueryBuilder::new("UPDATE datasets SET provenance = ");
    query.push_bind(Json(provenance)).push(" WHERE id = ").push_bind(id.0);
    query.push(format_args!(" RETURNING {COLUMNS}"));
    Ok(query.build_query_as().fetch_one(tx).await?)
}

/// Datasets, of all purposes or of one.
pub async fn page(db: &PgPool, purpose: Option<Purpose>, window: &Window) -> Result<Page<Dataset>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM datasets WHERE true"));
    if let Some(purpose) = purpose {
        query.push(" AND purpose = ").push_bind(purpose);
    }
    by_seq(db, query, "seq", window).await
}

/// One dataset.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: impl PgExecutor<'_>, id: DatasetId) -> Result<Dataset> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM datasets WHERE id = "));
    query.push_bind(id.0);
    let dataset = query.build_query_as().fetch_optional(db).await?;
    dataset.ok_or_else(|| StoreError::not_found("dataset", id))
}

/// The dataset called `name`.
pub async fn find_named(db: impl PgExecutor<'_>, name: &str) -> Result<Option<Dataset>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM datasets WHERE name = "));
    query.push_bind(name);
    Ok(query.build_query_as().fetch_optional(db).await?)
}

/// The dataset with this id or name.
pub async fn find_called(db: impl PgExecutor<'_>, text: &str) -> Result<Option<Dataset>> {
    match text.parse() {
        Ok(id) => match find(db, DatasetId(id)).await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            found => found.map(Some),
        },
        Err(_) => find_named(db, text).await,
    }
}

/// Rows, in order, until they have `PAGE_BYTES` together, but at least one.
pub async fn rows(db: &PgPool, id: DatasetId, window: &Window) -> Result<Page<DatasetRow>> {
    rows_as("row", db, id, window).await
}

/// The same with what is larger than 64 KiB in a row, or in an object in it, told by its size, as for rows with large tests.
pub async fn shown_rows(db: &PgPool, id: DatasetId, window: &Window) -> Result<Page<DatasetRow>> {
    const SHORT: &str = "CASE WHEN octet_length(row::text) <= 65536 THEN row ELSE (
        SELECT jsonb_object_agg(field.key, CASE
            WHEN octet_length(field.value::text) <= 65536 THEN field.value
            WHEN jsonb_typeof(field.value) = 'object' THEN (
                SELECT jsonb_object_agg(part.key, CASE
                    WHEN octet_length(part.value::text) <= 65536 THEN part.value
                    ELSE to_jsonb(octet_length(part.value::text) || ' bytes, which the API gives') END)
                FROM jsonb_each(field.value) AS part)
            ELSE to_jsonb(octet_length(field.value::text) || ' bytes, which the API gives') END)
        FROM jsonb_each(row) AS field) END";
    rows_as(SHORT, db, id, window).await
}

/// Rows, each as the expression `shown` has it.
async fn rows_as(shown: &str, db: &PgPool, id: DatasetId, window: &Window) -> Result<Page<DatasetRow>> {
    const PAGE_BYTES: i64 = 4 << 20;
    // What is stored is smaller than its text and need not be unpacked, so it is added up first.
    let mut query = QueryBuilder::new("WITH next AS (SELECT index, row FROM dataset_rows WHERE dataset_id = ");
    query.push_bind(id.0).push(" AND index > ").push_bind(window.after.map_or(-1, |after| after.seq));
    query.push(" ORDER BY index LIMIT ").push_bind(i64::from(window.limit));
    query.push(
        "), few AS (
             SELECT index, row, sum(pg_column_size(row)) OVER (ORDER BY index) - pg_column_size(row) AS before FROM next
         ), shown AS (SELECT index, ",
    );
    query.push(shown).push(" AS row FROM few WHERE before < ").push_bind(PAGE_BYTES);
    query.push(
        "), page AS (
             SELECT index, row, sum(octet_length(row::text)) OVER (ORDER BY index) - octet_length(row::text) AS before FROM shown
         ) SELECT index, row FROM page WHERE before < ",
    );
    query.push_bind(PAGE_BYTES).push(" ORDER BY index");
    let items: Vec<DatasetRow> = query.build_query_as().fetch_all(db).await?;
    let Some(last) = items.last().map(Keyed::key) else { return Ok(Page { items, next: None }) };
    let more: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM dataset_rows WHERE dataset_id = $1 AND index > $2)")
            .bind(id.0)
            .bind(last.seq)
            .fetch_one(db)
            .await?;
    Ok(Page { items, next: more.then_some(last) })
}

/// Up to `count` rows from `first` on, in order.
pub async fn slice(db: impl PgExecutor<'_>, id: DatasetId, first: u32, count: u32) -> Result<Vec<Value>> {
    Ok(sqlx::query_scalar(
        "SELECT row FROM dataset_rows WHERE dataset_id = $1 AND index >= $2 AND index < $3 ORDER BY index",
    )
    .bind(id.0)
    .bind(first.cast_signed())
    .bind(first.saturating_add(count).cast_signed())
    .fetch_all(db)
    .await?)
}

/// The value of a tag of every row. A field of a problem of code, such as its level, is a tag too.
pub async fn tags(db: impl PgExecutor<'_>, id: DatasetId, tag: &str) -> Result<RowTags> {
    let values: Vec<Option<String>> = sqlx::query_scalar(
        "SELECT coalesce(row #>> ARRAY['tags', $2], row ->> $2) FROM dataset_rows WHERE dataset_id = $1 ORDER BY index",
    )
    .bind(id.0)
    .bind(tag)
    .fetch_all(db)
    .await?;
    Ok(values.into_iter().collect())
}

/// The first row of each kind among the first `count` rows, with its place.
pub async fn examples(db: &mut PgConnection, id: DatasetId, count: u32) -> Result<Vec<(i32, Value)>> {
    Ok(sqlx::query_as(
        "SELECT index, row FROM dataset_rows WHERE dataset_id = $1 AND index IN (
             SELECT min(index) FROM dataset_rows WHERE dataset_id = $1 AND index < $2
             GROUP BY coalesce(row -> 'oracle' ->> 'type', row ->> 'type')) ORDER BY index",
    )
    .bind(id.0)
    .bind(i32::try_from(count).unwrap_or(i32::MAX))
    .fetch_all(db)
    .await?)
}

/// The rows that [`slice()`] returns, from a server.
///
/// # Errors
/// [`StoreError::NotFound`] if the server does not have the dataset; the server cannot be reached or refuses.
pub async fn remote_slice(server: &Remote, id: DatasetId, first: u32, count: u32) -> Result<Vec<Value>> {
    #[derive(Deserialize)]
    struct Page {
        items: Vec<Item>,
        next: Option<String>,
    }
    #[derive(Deserialize)]
    struct Item {
        index: u32,
        row: Value,
    }
    let wanted = first..first.saturating_add(count);
    let mut rows = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/v1/datasets/{id}/rows?limit=100{cursor}");
        let body = server.get(path).await?.ok_or_else(|| StoreError::not_found("dataset", id))?;
        let page: Page = serde_json::from_slice(&body).map_err(StoreError::json("page of rows"))?;
        let is_past = page.items.last().is_none_or(|last| last.index >= wanted.end);
        let found = page.items.into_iter().filter(|item| wanted.contains(&item.index));
        rows.extend(found.map(|item| item.row));
        match page.next {
            Some(next) if !is_past => cursor = format!("&cursor={next}"),
            _ => return Ok(rows),
        }
    }
}

/// The questions of these rows of a benchmark, with their index; unordered, without missing ones.
pub async fn questions(db: &PgPool, id: DatasetId, places: &[i32]) -> Result<Vec<(i32, String)>> {
    let rows: Vec<(i32, Value)> =
        sqlx::query_as("SELECT index, row FROM dataset_rows WHERE dataset_id = $1 AND index = ANY($2)")
            .bind(id.0)
            .bind(places)
            .fetch_all(db)
            .await?;
    let question = |(index, row): (i32, Value)| {
        let own = row["question"].as_str().map(str::to_owned);
        // Problems of self-play have a program and values instead.
        let asked = own.or_else(|| Some(self_play(0, &row).ok()?.question));
        Some((index, asked?))
    };
    Ok(rows.into_iter().filter_map(question).collect())
}

/// The newest dataset of a suite, but for parts of others.
pub async fn newest_of_suite(db: &mut PgConnection, suite: &str) -> Result<Option<Dataset>> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM datasets WHERE purpose = 'benchmark' AND provenance IS NULL AND suite = "
    ));
    query.push_bind(suite).push(" ORDER BY seq DESC LIMIT 1");
    Ok(query.build_query_as().fetch_optional(db).await?)
}

/// Other datasets with rows that ask the same question or are about the same program ([`fingerprints`](lyceum_core::dataset::fingerprints)), oldest first.
pub async fn overlaps(db: impl PgExecutor<'_>, id: DatasetId) -> Result<Vec<Overlap>> {
    Ok(sqlx::query_as(
        "SELECT d.id AS dataset_id, d.name, d.purpose, count(DISTINCT same.index) AS rows
         FROM (
             SELECT mine.index, other.dataset_id FROM dataset_rows mine
             JOIN dataset_rows other ON other.fingerprint = mine.fingerprint WHERE mine.dataset_id = $1
             UNION ALL
             SELECT mine.index, other.dataset_id FROM dataset_rows mine
             JOIN dataset_rows other ON other.program_fingerprint = mine.program_fingerprint WHERE mine.dataset_id = $1
         ) same JOIN datasets d ON d.id = same.dataset_id
         WHERE d.id <> $1 GROUP BY d.id ORDER BY d.seq",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?)
}

/// The first `limit` rows of a dataset that overlap with `other`, each with the task of `other` that it repeats, if that has
/// a name.
pub async fn overlapping_rows(
    db: impl PgExecutor<'_>,
    id: DatasetId,
    other: DatasetId,
    limit: u32,
) -> Result<Vec<(i32, Option<String>)>> {
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (index) index, task_id FROM (
             SELECT mine.index, other.row ->> 'task_id' AS task_id FROM dataset_rows mine
             JOIN dataset_rows other ON other.fingerprint = mine.fingerprint
             WHERE mine.dataset_id = $1 AND other.dataset_id = $2
             UNION ALL
             SELECT mine.index, other.row ->> 'task_id' FROM dataset_rows mine
             JOIN dataset_rows other ON other.program_fingerprint = mine.program_fingerprint
             WHERE mine.dataset_id = $1 AND other.dataset_id = $2
         ) same ORDER BY index, task_id LIMIT $3",
    )
    .bind(id.0)
    .bind(other.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}

/// Keeps a dataset from being deleted until the transaction ends; false if it is not there any more.
pub async fn hold(tx: &mut PgConnection, id: DatasetId) -> Result<bool> {
    let held = sqlx::query("SELECT FROM datasets WHERE id = $1 FOR KEY SHARE").bind(id.0).execute(tx).await?;
    Ok(held.rows_affected() > 0)
}

/// A run or evaluation whose config names a dataset.
#[derive(Clone, Debug, FromRow)]
struct User {
    id: Uuid,
    kind: String,
    state: String,
    name: Option<String>,
}

/// Removes a dataset, and cancels its check.
///
/// # Errors
/// [`StoreError::NotFound`]; [`StoreError::InUse`] if a run or evaluation that has not finished names it.
pub async fn remove(db: &PgPool, id: DatasetId) -> Result<()> {
    let mut tx = db.begin().await?;
    check::cancel_check(&mut tx, id).await?;
    let name: Option<String> = sqlx::query_scalar("SELECT name FROM datasets WHERE id = $1 FOR UPDATE")
        .bind(id.0)
        .fetch_optional(&mut *tx)
        .await?;
    let name = name.ok_or_else(|| StoreError::not_found("dataset", id))?;
    let users: Vec<User> = sqlx::query_as(
        "SELECT e.id, e.kind, e.state, r.name FROM executions e LEFT JOIN runs r ON r.id = e.id
         WHERE e.finished_at IS NULL
             AND jsonb_path_exists(e.config, '$.** ? (@ == $id)', jsonb_build_object('id', $1::text))
         ORDER BY e.seq",
    )
    .bind(id.to_string())
    .fetch_all(&mut *tx)
    .await?;
    if !users.is_empty() {
        let users = users.iter().map(|user| match &user.name {
            Some(name) => format!("run `{name}` ({}, {})", user.id, user.state),
            None => format!("{} {} ({})", user.kind, user.id, user.state),
        });
        return Err(StoreError::InUse { what: "dataset", name, users: users.collect::<Vec<_>>().join(", ") });
    }
    sqlx::query("DELETE FROM datasets WHERE id = $1").bind(id.0).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}

impl Keyed for Dataset {
    fn key(&self) -> Key {
        Key { value: None, seq: self.seq }
    }
}

impl Keyed for DatasetRow {
    fn key(&self) -> Key {
        Key { value: None, seq: i64::from(self.index) }
    }
}
