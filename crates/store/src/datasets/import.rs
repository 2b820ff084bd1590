//! Writing datasets.

use lyceum_core::dataset::{ImportReport, fingerprints};
use lyceum_core::id::DatasetId;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::types::Json;
use sqlx::{PgConnection, QueryBuilder};
use std::borrow::Borrow;
use uuid::Uuid;

use super::{COLUMNS, Dataset, NewDataset, plan_check};
use crate::{Result, StoreError};

/// Rows per statement; Postgres takes at most 65,535 parameters.
pub(super) const BATCH: usize = 5000;

/// A dataset being written batch by batch in one transaction; if that is rolled back, nothing is kept.
#[derive(Debug)]
pub struct Import {
    id: Uuid,
    rows: i32,
    hash: Sha256,
}

impl Import {
    /// Begins a dataset; the rows of `new` are ignored.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if the name is in use.
    pub async fn begin(tx: &mut PgConnection, new: &NewDataset<'_>) -> Result<Self> {
        Self::begin_as(tx, DatasetId(Uuid::now_v7()), new).await
    }

    /// Begins a dataset with this id.
    pub(super) async fn begin_as(
        tx: &mut PgConnection,
        DatasetId(id): DatasetId,
        new: &NewDataset<'_>,
    ) -> Result<Self> {
        // Checksum and count are filled in at the end; until then no other transaction sees the row.
        let inserted = sqlx::query(
            "INSERT INTO datasets (id, name, purpose, suite, sha256, source, revision, rows)
             VALUES ($1, $2, $3, $4, repeat('0', 64), $5, $6, 1) ON CONFLICT (name) DO NOTHING",
        )
        .bind(id)
        .bind(new.name)
        .bind(new.purpose)
        .bind(new.suite)
        .bind(new.source)
        .bind(new.revision)
        .execute(tx)
        .await?;
        match inserted.rows_affected() {
            0 => Err(StoreError::taken("dataset", new.name)),
            _ => Ok(Self { id, rows: 0, hash: Sha256::new() }),
        }
    }

    /// Adds the next rows, each with the line of the file that it was read from.
    pub async fn add(
        &mut self,
        tx: &mut PgConnection,
        rows: &[(Option<i32>, impl Borrow<Value> + Sync)],
    ) -> Result<()> {
        for batch in rows.chunks(BATCH) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO dataset_rows (dataset_id, index, line, row, fingerprint, program_fingerprint) ",
            );
            let id = self.id;
            insert.push_values((self.rows..).zip(batch), |mut values, (index, (line, row))| {
                let row = row.borrow();
                let fingerprints = fingerprints(row);
                values
                    .push_bind(id)
                    .push_bind(index)
                    .push_bind(line)
                    .push_bind(Json(row))
                    .push_bind(fingerprints.question.to_vec())
                    .push_bind(fingerprints.program.map(|hash| hash.to_vec()));
            });
            insert.build().execute(&mut *tx).await?;
            for (_, row) in batch {
                self.hash.update(row.borrow().to_string());
                self.hash.update("\n");
            }
            self.rows = self.rows.saturating_add(i32::try_from(batch.len()).unwrap_or(i32::MAX));
        }
        Ok(())
    }

    /// Writes checksum, count and report, and the revision if the dataset has none yet. Plans the check of its tests.
    pub async fn finish(
        self,
        tx: &mut PgConnection,
        revision: Option<&str>,
        report: Option<&ImportReport>,
    ) -> Result<Dataset> {
        let made = self.close(&mut *tx, revision, report).await?;
        plan_check(tx, &made).await?;
        Ok(made)
    }

    /// The same without a check.
    pub(super) async fn close(
        self,
        tx: &mut PgConnection,
        revision: Option<&str>,
        report: Option<&ImportReport>,
    ) -> Result<Dataset> {
        let sha256: String = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut query = QueryBuilder::new("UPDATE datasets SET sha256 = ");
        query.push_bind(sha256).push(", rows = ").push_bind(self.rows);
        query.push(", report = ").push_bind(report.map(Json));
        query.push(", revision = coalesce(revision, ").push_bind(revision).push(")");
        query.push(" WHERE id = ").push_bind(self.id);
        query.push(format_args!(" RETURNING {COLUMNS}"));
        Ok(query.build_query_as().fetch_one(tx).await?)
    }
}

/// Writes a dataset.
///
/// # Errors
/// [`StoreError::Taken`] if the name is in use.
pub async fn create(tx: &mut PgConnection, new: &NewDataset<'_>) -> Result<Dataset> {
    create_as(tx, DatasetId(Uuid::now_v7()), new).await
}

/// Writes a dataset whose id follows from its rows, so that the same rows have the same id wherever they are imported.
///
/// # Errors
/// [`StoreError::Taken`] if the name is in use.
pub async fn create_as(tx: &mut PgConnection, id: DatasetId, new: &NewDataset<'_>) -> Result<Dataset> {
    let mut import = Import::begin_as(&mut *tx, id, new).await?;
    for rows in new.rows.chunks(BATCH) {
        let rows: Vec<_> = rows.iter().map(|row| (None, row)).collect();
        import.add(&mut *tx, &rows).await?;
    }
    import.finish(tx, None, None).await
}
