//! Datasets: imported, hashed rows.

use chrono::{DateTime, Utc};
use lyceum_core::id::DatasetId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder, types::Json};
use uuid::Uuid;

use crate::{
    Result, StoreError,
    page::{Key, Keyed, Page, Window, by_seq},
};

/// What a dataset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// What proposers start from.
    Seeds,
    /// Hard problems that lemmas are made for (GASP).
    Goalposts,
    /// What is learned from.
    Training,
    /// What is measured with.
    Benchmark,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 4] = [Self::Seeds, Self::Goalposts, Self::Training, Self::Benchmark];

    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::Goalposts => "goalposts",
            Self::Training => "training",
            Self::Benchmark => "benchmark",
        }
    }
}

/// A dataset.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Dataset {
    /// The dataset.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// What people call it; no two have the same name.
    pub name: String,
    /// `seeds`, `goalposts`, `training` or `benchmark`.
    pub purpose: String,
    /// The suite of benchmarks that it belongs to.
    pub suite: Option<String>,
    /// SHA-256 of its rows, each as compact JSON and a newline.
    pub sha256: String,
    /// Where it came from.
    pub source: String,
    /// Which revision of that.
    pub revision: Option<String>,
    /// How many rows it has.
    pub rows: i32,
    /// When it was imported.
    pub created_at: DateTime<Utc>,
}

/// What a new dataset is made of.
#[derive(Clone, Debug)]
pub struct NewDataset<'a> {
    /// What people call it.
    pub name: &'a str,
    /// What it is for.
    pub purpose: Purpose,
    /// The suite of benchmarks that it belongs to.
    pub suite: Option<&'a str>,
    /// Where it came from.
    pub source: &'a str,
    /// Which revision of that.
    pub revision: Option<&'a str>,
    /// Its rows.
    pub rows: &'a [Value],
}

/// A row.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DatasetRow {
    /// Its place, from 0.
    pub index: i32,
    /// The row.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub row: Value,
}

/// Rows that two datasets have in common.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Overlap {
    /// The other dataset.
    pub dataset_id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for: rows that are both trained on and measured with make a measurement worthless.
    pub purpose: String,
    /// Rows of this dataset that ask what a row of the other asks.
    pub rows: i64,
}

const COLUMNS: &str = "id, seq, name, purpose, suite, sha256, source, revision, rows, created_at";

/// Rows of one statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 5000;

/// Fields that hold what a row asks, in the order in which they are looked for; a row without any is taken whole.
const QUESTIONS: [&str; 6] = ["question", "problem", "prompt", "task", "text", "input"];

/// Hash of what a row asks, in lower case and with single spaces, by which overlap of datasets is found.
pub fn fingerprint(row: &Value) -> [u8; 32] {
    let question = QUESTIONS.iter().find_map(|field| row.get(field)).unwrap_or(row);
    let text = match question {
        Value::String(text) => text.to_lowercase(),
        other => other.to_string().to_lowercase(),
    };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Sha256::digest(words).into()
}

/// A dataset that is being written, batch by batch, in one transaction: whoever drops that drops the whole.
#[derive(Debug)]
pub struct Import {
    id: Uuid,
    rows: i32,
    hash: Sha256,
}

impl Import {
    /// Begins a dataset; the rows of `new` are not looked at.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when another has the name.
    pub async fn begin(tx: &mut PgConnection, new: &NewDataset<'_>) -> Result<Self> {
        let id = Uuid::now_v7();
        // Checksum and count are known at the end; until then nobody else sees the row.
        let inserted = sqlx::query(
            "INSERT INTO datasets (id, name, purpose, suite, sha256, source, revision, rows)
             VALUES ($1, $2, $3, $4, repeat('0', 64), $5, $6, 1) ON CONFLICT (name) DO NOTHING",
        )
        .bind(id)
        .bind(new.name)
        .bind(new.purpose.name())
        .bind(new.suite)
        .bind(new.source)
        .bind(new.revision)
        .execute(tx)
        .await?;
        match inserted.rows_affected() {
            0 => Err(StoreError::taken("dataset", new.name)),
            _ => Ok(Self {
                id,
                rows: 0,
                hash: Sha256::new(),
            }),
        }
    }

    /// Adds the next rows.
    pub async fn add(&mut self, tx: &mut PgConnection, rows: &[Value]) -> Result<()> {
        for batch in rows.chunks(BATCH) {
            let mut insert = QueryBuilder::new("INSERT INTO dataset_rows (dataset_id, index, row, fingerprint) ");
            let id = self.id;
            insert.push_values((self.rows..).zip(batch), |mut values, (index, row)| {
                values
                    .push_bind(id)
                    .push_bind(index)
                    .push_bind(Json(row))
                    .push_bind(fingerprint(row).to_vec());
            });
            insert.build().execute(&mut *tx).await?;
            for row in batch {
                self.hash.update(row.to_string());
                self.hash.update("\n");
            }
            self.rows = self.rows.saturating_add(i32::try_from(batch.len()).unwrap_or(i32::MAX));
        }
        Ok(())
    }

    /// Ends it.
    pub async fn finish(self, tx: &mut PgConnection) -> Result<Dataset> {
        let sha256: String = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut query = QueryBuilder::new("UPDATE datasets SET sha256 = ");
        query.push_bind(sha256).push(", rows = ").push_bind(self.rows);
        query.push(" WHERE id = ").push_bind(self.id);
        query.push(format_args!(" RETURNING {COLUMNS}"));
        Ok(query.build_query_as().fetch_one(tx).await?)
    }
}

/// Writes a dataset.
///
/// # Errors
/// [`StoreError::Taken`] when another has the name.
pub async fn create(tx: &mut PgConnection, new: &NewDataset<'_>) -> Result<Dataset> {
    let mut import = Import::begin(&mut *tx, new).await?;
    import.add(&mut *tx, new.rows).await?;
    import.finish(tx).await
}

/// Datasets, or those for one purpose.
pub async fn page(db: &PgPool, purpose: Option<Purpose>, window: &Window) -> Result<Page<Dataset>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM datasets WHERE true"));
    if let Some(purpose) = purpose {
        query.push(" AND purpose = ").push_bind(purpose.name());
    }
    by_seq(db, query, "seq", window).await
}

/// One dataset.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: DatasetId) -> Result<Dataset> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM datasets WHERE id = "));
    query.push_bind(id.0);
    let dataset = query.build_query_as().fetch_optional(db).await?;
    dataset.ok_or_else(|| StoreError::not_found("dataset", id))
}

/// Rows in their order.
pub async fn rows(db: &PgPool, id: DatasetId, window: &Window) -> Result<Page<DatasetRow>> {
    let mut query = QueryBuilder::new("SELECT index, row FROM dataset_rows WHERE dataset_id = ");
    query.push_bind(id.0);
    by_seq(db, query, "index", window).await
}

/// `count` rows from the `first` on, in their order; fewer at the end.
pub async fn slice(db: &PgPool, id: DatasetId, first: u32, count: u32) -> Result<Vec<Value>> {
    Ok(sqlx::query_scalar(
        "SELECT row FROM dataset_rows WHERE dataset_id = $1 AND index >= $2 AND index < $3 ORDER BY index",
    )
    .bind(id.0)
    .bind(first.cast_signed())
    .bind(first.saturating_add(count).cast_signed())
    .fetch_all(db)
    .await?)
}

/// What these rows of a benchmark ask, by their place; in no order, and without those that are not there.
pub async fn questions(db: &PgPool, id: DatasetId, places: &[i32]) -> Result<Vec<(i32, String)>> {
    Ok(sqlx::query_as(
        "SELECT index, row ->> 'question' FROM dataset_rows
         WHERE dataset_id = $1 AND index = ANY($2) AND row ->> 'question' IS NOT NULL",
    )
    .bind(id.0)
    .bind(places)
    .fetch_all(db)
    .await?)
}

/// The rows of a suite that were imported last.
pub async fn newest_of_suite(db: &mut PgConnection, suite: &str) -> Result<Option<Dataset>> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM datasets WHERE purpose = 'benchmark' AND suite = "
    ));
    query.push_bind(suite).push(" ORDER BY seq DESC LIMIT 1");
    Ok(query.build_query_as().fetch_optional(db).await?)
}

/// Other datasets with rows that ask the same.
pub async fn overlaps(db: &PgPool, id: DatasetId) -> Result<Vec<Overlap>> {
    Ok(sqlx::query_as(
        "SELECT d.id AS dataset_id, d.name, d.purpose, count(DISTINCT mine.index) AS rows
         FROM dataset_rows mine
         JOIN dataset_rows other ON other.fingerprint = mine.fingerprint AND other.dataset_id <> mine.dataset_id
         JOIN datasets d ON d.id = other.dataset_id
         WHERE mine.dataset_id = $1 GROUP BY d.id ORDER BY d.seq",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?)
}

/// Removes a dataset.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn remove(db: &PgPool, id: DatasetId) -> Result<()> {
    let removed = sqlx::query("DELETE FROM datasets WHERE id = $1")
        .bind(id.0)
        .execute(db)
        .await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("dataset", id)),
        _ => Ok(()),
    }
}

impl Keyed for Dataset {
    fn key(&self) -> Key {
        Key {
            value: None,
            seq: self.seq,
        }
    }
}

impl Keyed for DatasetRow {
    fn key(&self) -> Key {
        Key {
            value: None,
            seq: i64::from(self.index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_is_the_same_in_other_spaces_and_letters_and_with_another_answer() {
        let one = fingerprint(&json!({"question": "What is  2+2?\n", "answer": "4"}));
        assert_eq!(one, fingerprint(&json!({"question": "what is 2+2?", "answer": "four"})));
        assert_ne!(one, fingerprint(&json!({"question": "what is 2+3?"})));
        assert_ne!(fingerprint(&json!({"a": 1})), fingerprint(&json!({"a": 2})));
    }
}
