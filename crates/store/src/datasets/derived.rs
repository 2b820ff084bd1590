//! Datasets that are parts of others, each made once.

use lyceum_core::benchmark::spread_rows;
use lyceum_core::id::DatasetId;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::import::BATCH;
use super::{Dataset, Import, NewDataset, find, set_provenance};
use crate::{Result, StoreError};

/// Characters of the whole's name that a part's name keeps.
const KEPT: usize = 160;

/// The rows of `whole` that its check did not find bad, as a dataset of its own, which counts as checked.
///
/// # Errors
/// [`StoreError::NotFound`] if no row is left, [`StoreError::Taken`] if another dataset has its name.
pub async fn without_bad_rows(db: &mut PgConnection, whole: &Dataset) -> Result<Dataset> {
    let bad: Vec<i32> = sqlx::query_scalar("SELECT index FROM dataset_bad_rows WHERE dataset_id = $1 ORDER BY index")
        .bind(whole.id)
        .fetch_all(&mut *db)
        .await?;
    if bad.len() as i64 >= i64::from(whole.rows) {
        return Err(StoreError::not_found("good row of dataset", format!("`{}`", whole.name)));
    }
    let part = Part {
        // The same rows are the same dataset.
        id: Uuid::new_v5(&whole.id, format!("without {bad:?}").as_bytes()),
        name: format!("without {} bad rows", bad.len()),
        has: &|index| bad.binary_search(&index).is_err(),
        provenance: json!({"dataset": whole.id, "name": whole.name, "left_out_bad_rows": bad}),
    };
    let made = part.made(db, whole).await?;
    sqlx::query("UPDATE datasets SET checked_at = now() WHERE id = $1 AND checked_at IS NULL")
        .bind(made.id)
        .execute(db)
        .await?;
    Ok(made)
}

/// A sample of `rows` rows of `whole`, spread over it, as a dataset of its own. It counts as checked if the whole is, and has no
/// bad rows.
///
/// # Errors
/// [`StoreError::Taken`] if another dataset has its name.
pub async fn sample(db: &mut PgConnection, whole: &Dataset, rows: u32) -> Result<Dataset> {
    let drawn = spread_rows(whole.rows.cast_unsigned(), rows);
    let part = Part {
        id: Uuid::new_v5(&whole.id, format!("sample of {rows}").as_bytes()),
        name: format!("({rows} of {} rows)", whole.rows),
        has: &|index| drawn.binary_search(&index.cast_unsigned()).is_ok(),
        provenance: json!({"dataset": whole.id, "name": whole.name, "sampled_rows": drawn}),
    };
    let made = part.made(db, whole).await?;
    sqlx::query(
        "UPDATE datasets SET checked_at = w.checked_at FROM datasets w WHERE datasets.id = $1 AND w.id = $2
             AND NOT EXISTS (SELECT FROM dataset_bad_rows b WHERE b.dataset_id = w.id)",
    )
    .bind(made.id)
    .bind(whole.id)
    .execute(db)
    .await?;
    Ok(made)
}

/// A part of a dataset.
struct Part<'a> {
    id: Uuid,
    /// What its name says after that of the whole.
    name: String,
    /// Whether it has the row at an index of the whole.
    has: &'a (dyn Fn(i32) -> bool + Send + Sync),
    provenance: Value,
}

impl Part<'_> {
    /// The part of `whole`, which is made unless it is there.
    async fn made(self, db: &mut PgConnection, whole: &Dataset) -> Result<Dataset> {
        let id = DatasetId(self.id);
        match find(&mut *db, id).await {
            Err(StoreError::NotFound { .. }) => {}
            found => return found,
        }
        let mut tx = db.begin().await?;
        let short: String = whole.name.chars().take(KEPT).collect();
        let new = NewDataset {
            name: &format!("{short} {}", self.name),
            purpose: whole.purpose,
            suite: whole.suite.as_deref(),
            source: &whole.source,
            revision: whole.revision.as_deref(),
            rows: &[],
        };
        let mut import = match Import::begin_as(&mut tx, id, &new).await {
            // Another request may have made it meanwhile.
            Err(taken @ StoreError::Taken { .. }) => return find(&mut *tx, id).await.map_err(|_| taken),
            begun => begun?,
        };
        for first in (0..whole.rows).step_by(BATCH) {
            let indices: Vec<i32> = (first..whole.rows.min(first.saturating_add(BATCH as i32)))
                .filter(|index| (self.has)(*index))
                .collect();
            let rows: Vec<(Option<i32>, Value)> = sqlx::query_as(
                "SELECT line, row FROM dataset_rows WHERE dataset_id = $1 AND index = ANY($2) ORDER BY index",
            )
            .bind(whole.id)
            .bind(&indices)
            .fetch_all(&mut *tx)
            .await?;
            import.add(&mut tx, &rows).await?;
        }
        import.close(&mut tx, None, None).await?;
        let made = set_provenance(&mut tx, id, &self.provenance).await?;
        tx.commit().await?;
        Ok(made)
    }
}
