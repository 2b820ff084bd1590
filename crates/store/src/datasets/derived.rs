//! Datasets that are parts of others.

use lyceum_core::id::DatasetId;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::{Dataset, Import, NewDataset, find, import::BATCH, set_provenance};
use crate::{Result, StoreError};

/// Characters of a name that are kept for what it is without.
const KEPT: usize = 160;

/// The rows of `whole` that its check did not find bad, as a dataset of its own, which counts as checked. It is made once.
///
/// # Errors
/// [`StoreError::NotFound`] if no row is left, [`StoreError::Taken`] if another dataset has its name.
pub async fn without_bad_rows(db: &mut PgConnection, whole: &Dataset) -> Result<Dataset> {
    let bad: Vec<i32> = sqlx::query_scalar("SELECT index FROM dataset_bad_rows WHERE dataset_id = $1 ORDER BY index")
        .bind(whole.id)
        .fetch_all(&mut *db)
        .await?;
    // The same rows are the same dataset.
    let id = DatasetId(Uuid::new_v5(&whole.id, format!("without {bad:?}").as_bytes()));
    match find(&mut *db, id).await {
        Err(StoreError::NotFound { .. }) => {}
        found => return found,
    }
    if bad.len() as i64 >= i64::from(whole.rows) {
        return Err(StoreError::not_found(
            "good row of dataset",
            format!("`{}`", whole.name),
        ));
    }
    let mut tx = db.begin().await?;
    let short: String = whole.name.chars().take(KEPT).collect();
    let new = NewDataset {
        name: &format!("{short} without {} bad rows", bad.len()),
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
        let rows: Vec<(Option<i32>, Value)> = sqlx::query_as(
            "SELECT line, row FROM dataset_rows
             WHERE dataset_id = $1 AND index >= $2 AND index < $3 AND index <> ALL($4) ORDER BY index",
        )
        .bind(whole.id)
        .bind(first)
        .bind(first.saturating_add(BATCH as i32))
        .bind(&bad)
        .fetch_all(&mut *tx)
        .await?;
        import.add(&mut tx, &rows).await?;
    }
    import.close(&mut tx, None, None).await?;
    sqlx::query("UPDATE datasets SET checked_at = now() WHERE id = $1")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    let provenance = json!({"dataset": whole.id, "name": whole.name, "left_out_bad_rows": bad});
    let made = set_provenance(&mut tx, id, &provenance).await?;
    tx.commit().await?;
    Ok(made)
}
